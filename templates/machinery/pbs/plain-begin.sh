PATH=$PATH:/usr/sbin:/sbin:/opt/pbs/bin  # some systems have ip there, and PBS its own commands
