/** Formats the event stream as text, in the line format of the system that this library recreates. */

import { ArgumentError } from '../errors/errors.ts';
import { events, type MemoryEvent } from './events.ts';

/** `0x` and at least 12 digits, like pointers printed by C. */
function pointer(ptr: number): string {
  return `0x${ptr.toString(16).padStart(12, '0')}`;
}

/**
 * Returns one line per allocation (`Alloc 1024 bytes, ptr = 0x…`), release (`Free 1024 bytes, ptr = 0x…`), copy,
 * kernel and mark, prefixed by the device unless it is `cpu`. Null for other events.
 */
export function formatEvent(event: MemoryEvent): string | null {
  switch (event.kind) {
    case 'alloc':
      return `${prefix(event.device)}Alloc ${event.bytes} bytes, ptr = ${pointer(event.ptr)}`;
    case 'free':
      return `${prefix(event.device)}Free ${event.bytes} bytes, ptr = ${pointer(event.ptr)}`;
    case 'copy':
      return `Copy ${event.bytes} bytes from ${event.from} to ${event.to}`;
    case 'kernel':
      return `${prefix(event.device)}Run ${event.op}`;
    case 'mark':
      return event.label;
    case 'reserve':
      return `${prefix(event.device)}Reserve ${event.bytes} bytes`;
  }
}

function prefix(device: string): string {
  return device === 'cpu' ? '' : `[${device}] `;
}

/**
 * Passes every event's line to `write` until the returned function is called. Throws ArgumentError if `write` is
 * not a function.
 */
export function logEvents(write: (line: string) => void): () => void {
  if (typeof write !== 'function') {
    throw new ArgumentError({
      what: 'memory.log: there is nothing to pass the lines to',
      given: typeof write === 'string' ? `'${write}'` : String(write),
      expected: 'a function of a line',
      remedy: 'const stop = memory.log((line) => lines.push(line)), and write the lines to a file',
    });
  }
  return events.subscribe((event) => {
    const line = formatEvent(event);
    if (line !== null) write(line);
  });
}
