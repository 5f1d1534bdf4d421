/** Buffers with the method of newer engines: Node 21, browsers since 2023 and 2024. */
interface Transferable {
  transfer?(length: number): ArrayBuffer;
}

/** A port without a peer: posting detaches buffers from their sender and frees them. */
let closed: MessagePort | undefined;

function closedPort(): MessagePort {
  if (!closed) {
    closed = new MessageChannel().port1;
    closed.close();
  }
  return closed;
}

/**
 * Frees a buffer's memory immediately. Otherwise, a few megabytes of results per step trigger a garbage collection of
 * the whole heap every few steps.
 */
export function freeBuffer(buffer: ArrayBuffer): void {
  const transferable = buffer as ArrayBuffer & Transferable;
  if (transferable.transfer) transferable.transfer(0);
  else closedPort().postMessage(null, [buffer]);
}
