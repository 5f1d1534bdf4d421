/** Work that can run immediately, or must wait for a kernel's first build. */
interface Task {
  /** Returns null if it can run immediately; otherwise a promise that settles when it can and never rejects. */
  waitsFor(): Promise<void> | null;
  run(): void;
}

/**
 * Executes all GPU work in the order of issue. Only a kernel's first build delays work, and all work issued meanwhile;
 * otherwise work runs immediately.
 */
export class IssueQueue {
  #waiting: Task[] = [];
  #drained: Promise<void> | null = null;

  /** Whether anything is waiting for a build. */
  get busy(): boolean {
    return this.#drained !== null;
  }

  /** Resolves when everything issued so far has been submitted. */
  async idle(): Promise<void> {
    await this.#drained;
  }

  issue(task: Task): void {
    if (!this.#drained && !task.waitsFor()) {
      task.run();
      return;
    }
    this.#waiting.push(task);
    this.#drained ??= this.#drain();
  }

  /** Issues work that doesn't wait for a build itself. */
  issueNow(run: () => void): void {
    this.issue({ waitsFor: () => null, run });
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      const tasks = this.#waiting;
      this.#waiting = [];
      for (const task of tasks) {
        const ready = task.waitsFor();
        if (ready) await ready;
        task.run();
      }
    }
    this.#drained = null;
  }
}
