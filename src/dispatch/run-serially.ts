let last: Promise<unknown> = Promise.resolve();

/**
 * Runs the work after all earlier work. An awaited graph reads state before it runs and changes state after it: the
 * changes of a call in between would be lost.
 */
export function runSerially<T>(work: () => Promise<T>): Promise<T> {
  const run = last.then(work);
  last = run.catch(() => {});
  return run;
}
