let last: Promise<unknown> = Promise.resolve();

/**
 * Work after all earlier work. A graph that is awaited reads state before it runs, and changes state afterwards: that
 * of another call in between would be lost.
 */
export function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const own = last.then(work);
  last = own.catch(() => {});
  return own;
}
