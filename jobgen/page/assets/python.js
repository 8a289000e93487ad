// The worker with Python: one question at a time, and a newer one of its kind overtakes an older.
const ORDER = ["script", "job", "lint"];
const LONGEST = 30_000; // milliseconds for an answer; then Python starts anew

export class Python {
  constructor() {
    this.waiting = new Map();
    this.current = null;
    this.start();
  }

  // A worker from a blob obeys the policy of this page; one from a file would have none.
  start() {
    const module = new URL("worker.js", import.meta.url).href;
    const source = new Blob([`import ${JSON.stringify(module)};`], { type: "text/javascript" });
    const address = URL.createObjectURL(source);
    this.worker = new Worker(address, { type: "module" });
    this.worker.onmessage = ({ data }) => this.answered(JSON.parse(data));
    this.worker.onerror = (event) =>
      this.answered({ fault: event.message || "a file of this page cannot be loaded" });
    this.isNew = true;
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
    this.worker.postMessage(this.current.question);
    // The first answer waits for downloads, which may take long.
    if (this.isNew) return;
    const fault = { fault: `no answer after ${LONGEST / 1000} s` };
    this.timer = setTimeout(() => this.answered(fault), LONGEST);
  }

  // After a fault, Python starts anew; not after one of its start, which would come again.
  answered(answer) {
    const { question, callback } = this.current ?? {};
    clearTimeout(this.timer);
    this.current = null;
    if (answer.fault && !this.isNew) {
      this.worker.terminate();
      this.start();
    } else {
      this.isNew = false;
    }
    if (callback && !this.waiting.has(question.kind)) callback(answer);
    this.next();
  }
}
