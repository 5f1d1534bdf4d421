import { type UserPosition, userPosition } from '../../../runtime/errors/position.ts';
import { events } from '../../../runtime/memory/events.ts';

/** A block that was live at the peak. */
interface LiveBlock {
  readonly bytes: number;
  /** The op that allocated it. */
  readonly op: string;
  /** The user's line. */
  readonly at: UserPosition | undefined;
}

/** The live blocks at the peak, and where they were allocated. */
interface PeakAttribution {
  readonly peak: number;
  /** Bytes allocated before the recording that were still live at the peak. */
  readonly fromBefore: number;
  /** Largest first. */
  readonly blocks: readonly LiveBlock[];
}

interface Recorded extends LiveBlock {
  readonly born: number;
  died: number;
}

/** Runs `body`. Captures a stack for each eager allocation: for inspection, not for timing. */
export function recordPeak<T>(
  device: {
    readonly name: string;
    readonly allocator: { readonly counter: { readonly allocated: number } };
  },
  body: () => T,
): { readonly result: T; readonly attribution: PeakAttribution } {
  const before = device.allocator.counter.allocated;
  const live = new Map<number, Recorded>();
  const blocks: Recorded[] = [];
  let moment = 0;
  let peak = before;
  let peakMoment = 0;
  const stop = events.subscribe((event) => {
    if (event.kind !== 'alloc' && event.kind !== 'free') return;
    if (event.device !== device.name) return;
    moment++;
    if (event.kind === 'free') {
      const block = live.get(event.ptr);
      if (block) block.died = moment;
      live.delete(event.ptr);
      return;
    }
    const { bytes, op, ptr, allocated } = event;
    const at = events.at ?? userPosition();
    const block = { bytes, op, at, born: moment, died: Number.POSITIVE_INFINITY };
    live.set(ptr, block);
    blocks.push(block);
    if (allocated <= peak) return;
    peak = allocated;
    peakMoment = moment;
  });
  try {
    const result = body();
    const held = blocks.filter(({ born, died }) => born <= peakMoment && died > peakMoment);
    const heldBytes = held.reduce((sum, { bytes }) => sum + bytes, 0);
    const largest = held
      .toSorted((a, b) => b.bytes - a.bytes || a.born - b.born)
      .map(({ bytes, op, at }) => ({ bytes, op, at }));
    return { result, attribution: { peak, fromBefore: peak - heldBytes, blocks: largest } };
  } finally {
    stop();
  }
}

/** Live bytes at the peak by user line, largest first. */
export function byLine({ blocks }: PeakAttribution): readonly LineShare[] {
  const lines = new Map<string, { bytes: number; blocks: number; ops: Set<string> }>();
  for (const { bytes, op, at } of blocks) {
    const line = at ? `${shortFile(at.file)}:${at.line}` : 'outside of user code';
    const share = lines.get(line) ?? { bytes: 0, blocks: 0, ops: new Set<string>() };
    share.bytes += bytes;
    share.blocks++;
    share.ops.add(op);
    lines.set(line, share);
  }
  return [...lines]
    .map(([line, { ops, ...share }]) => ({ line, ...share, ops: [...ops] }))
    .sort((a, b) => b.bytes - a.bytes || a.line.localeCompare(b.line));
}

export interface LineShare {
  readonly line: string;
  readonly bytes: number;
  readonly blocks: number;
  readonly ops: readonly string[];
}

export function shortFile(file: string): string {
  return file.slice(file.lastIndexOf('/') + 1);
}
