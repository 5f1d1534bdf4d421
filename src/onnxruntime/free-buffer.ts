/** The method of later engines: Node 21, browsers since 2023 and 2024. */
interface Transferable {
  transfer?(length: number): ArrayBuffer;
}

/** A port without another end: posting takes buffers from their sender, and frees them. */
let closed: MessagePort | undefined;

function closedPort(): MessagePort {
  if (!closed) {
    closed = new MessageChannel().port1;
    closed.close();
  }
  return closed;
}

/**
 * Frees the memory of a buffer now. Left to the collector, a few megabytes of results a step make it run every few steps,
 * over the heap of the whole process.
 */
export function freeBuffer(buffer: ArrayBuffer): void {
  const own = buffer as ArrayBuffer & Transferable;
  if (own.transfer) own.transfer(0);
  else closedPort().postMessage(null, [buffer]);
}
