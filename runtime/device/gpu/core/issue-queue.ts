/** Work that must wait for nothing, or for one kernel's first build. */
export interface Task {
  /** Null when it can run immediately; settles when it can, never rejects. */
  waitsFor(): Promise<void> | null;
  run(): void;
}

/**
 * Everything that touches the GPU, in the order of issue. A kernel's first build is the only thing that
 * takes time before submission; what is issued meanwhile waits after it, and everything else runs immediately.
 */
export class IssueQueue {
  #waiting: Task[] = [];
  #drained: Promise<void> | null = null;

  /** True while something waits for a build. */
  get busy(): boolean {
    return this.#drained !== null;
  }

  /** Resolves when everything issued so far was submitted. */
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

  /** For work that waits for nothing itself. */
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
