// The worker with Python: one question at a time, and a newer one of its kind overtakes an older.
const ORDER = ["form", "lint"];
const LONGEST = 30_000; // milliseconds for an answer; then Python starts anew

export class Python {
  // `showProgress` gets the bytes that were received, and null once Python is ready.
  constructor(showProgress) {
    this.showProgress = showProgress;
    this.waiting = new Map();
    this.current = null;
    this.failed = null; // the fault of its start
    this.start();
  }

  // A worker from a blob obeys the policy of this page; one from a file would have none.
  start() {
    const module = new URL("worker.js", import.meta.url).href;
    const source = new Blob([`import ${JSON.stringify(module)};`], { type: "text/javascript" });
    const address = URL.createObjectURL(source);
    this.isNew = true; // until it is ready
    this.worker = new Worker(address, { type: "module" });
    this.worker.onmessage = ({ data }) => this.received(JSON.parse(data));
    this.worker.onerror = (event) =>
      this.answered({ fault: event.message || "a file of this page cannot be loaded" });
  }

  received(answer) {
    if (answer.bytes) return this.isNew && this.showProgress(answer.bytes);
    if (!answer.ready) return this.answered(answer);
    this.isNew = false;
    this.showProgress(null);
    if (this.current) this.limit();
  }

  // Calls back with the answer, unless a newer question of the same kind has come.
  ask(question, callback) {
    this.waiting.set(question.kind, { question, callback });
    this.next();
  }

  next() {
    if (this.current) return;
    const kind = ORDER.find((each) => this.waiting.has(each));
    if (!kind) return;
    this.current = this.waiting.get(kind);
    this.waiting.delete(kind);
    if (this.failed) return this.answered(this.failed);
    this.worker.postMessage(this.current.question);
    if (!this.isNew) this.limit();
  }

  // Not before Python is ready: it waits for downloads, which may take long.
  limit() {
    const fault = { fault: `no answer after ${LONGEST / 1000} s` };
    this.timer = setTimeout(() => this.answered(fault), LONGEST);
  }

  // After a fault, Python starts anew; not after one of its start, which would come again.
  answered(answer) {
    const { question, callback } = this.current ?? {};
    clearTimeout(this.timer);
    this.current = null;
    if (answer.fault && this.isNew) {
      this.failed = answer;
      this.showProgress(null);
    } else if (answer.fault) {
      this.worker.terminate();
      this.start();
    }
    if (callback && !this.waiting.has(question.kind)) callback(answer);
    this.next();
  }
}
