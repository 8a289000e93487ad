PATH=$PATH:/usr/sbin:/sbin  # some systems have ip there
