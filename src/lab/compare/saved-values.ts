import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import type { ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { bytesOf } from '../../../runtime/program/value-bytes.ts';
import type { CompiledPart } from '../../programs/compiled-part.ts';
import { shortFile } from './peak-attribution.ts';

/** The values of one line that forward saves for backward. */
export interface SavedShare {
  /** The op that computed them, and the user's line. */
  readonly source: string;
  readonly bytes: number;
  readonly values: number;
  /** The backward ops that read them. */
  readonly readers: readonly string[];
}

interface Share {
  bytes: number;
  values: number;
  readonly readers: Set<string>;
}

/**
 * Returns the values that the subgraphs save between forward and backward, largest first, without memory of the caller.
 */
export function savedBySource(parts: readonly CompiledPart[]): readonly SavedShare[] {
  const shares = new Map<string, Share>();
  for (const { stages } of parts) {
    if (!stages?.planned.backward) continue;
    const { values, forward, backward } = stages.planned;
    const roots = new Map<ValueId, ValueId>();
    const makers = new Map<ValueId, ProgramOp>();
    for (const { op, reuses } of forward.steps) {
      op.outputs.forEach((id, i) => {
        makers.set(id, op);
        const base = op.op.kernel.kind === 'view' ? op.inputs[0]! : reuses[i];
        roots.set(id, base === null || base === undefined ? id : (roots.get(base) ?? base));
      });
    }
    const seen = new Set<ValueId>();
    for (const id of backward.saved.withData) {
      const maker = makers.get(id);
      if (!maker) continue;
      const share = shareAt(shares, describe(maker));
      const readers = backward.plan.steps.filter(({ op }) => op.inputs.includes(id));
      for (const { op } of readers) share.readers.add(op.op.name);
      const root = roots.get(id) ?? id;
      if (seen.has(root)) continue;
      seen.add(root);
      share.bytes += bytesOf(values, root);
      share.values++;
    }
  }
  return [...shares]
    .map(([source, { readers, ...share }]) => ({ source, ...share, readers: [...readers] }))
    .sort((a, b) => b.bytes - a.bytes || a.source.localeCompare(b.source));
}

function describe({ op, at }: ProgramOp): string {
  return at ? `${op.name} at ${shortFile(at.file)}:${at.line}` : op.name;
}

function shareAt(shares: Map<string, Share>, source: string): Share {
  return getOrInsert(shares, source, () => ({ bytes: 0, values: 0, readers: new Set() }));
}
