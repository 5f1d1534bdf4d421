import { sameAttrs } from '../../runtime/ops/prepared-call.ts';
import { isSymbolic } from '../../runtime/ops/symbolic-number.ts';
import { aliasOp } from '../../runtime/program/alias-op.ts';
import { outputGradientOp } from '../../runtime/program/output-gradient-op.ts';
import type { ProgramOp, ValueId } from '../../runtime/program/program.ts';
import type { PassContext, Staged } from './pass.ts';
import { isPure, type SameValues } from './same-value.ts';
import { unlessLarger } from './unless-larger.ts';

const none: ReadonlySet<string> = new Set();

/**
 * In: a program. Out: one in which the same op on the same operands runs once, and views that show the same
 * elements in the same layout are one: `x.t().t()` is `x`. Late ops share values of forward only where forward
 * keeps them anyway.
 */
export function shareSubexpressions(given: Staged, context: PassContext): Staged {
  return unlessLarger(given, context, (same) => share(given, same));
}

function share(given: Staged, same: SameValues): void {
  /** By op and operands: those with other attributes side by side. */
  const known = new Map<string, ProgramOp[]>();
  /** By memory and layout. */
  const views = new Map<string, ValueId>();
  /** Views whose place differs from run to run, and views of them. */
  const placed = new Set<ValueId>();
  for (const id of given.program.inputs) views.set(viewKey(given, same, id), id);
  for (const op of given.program.ops) {
    const isView = op.op.kernel.kind === 'view';
    if (isView && (hasSymbols(op) || placed.has(op.inputs[0]!))) {
      placed.add(op.outputs[0]!);
      continue;
    }
    if (isPure(op) && !isMark(op)) {
      if (isView) shareView(given, same, views, op.outputs[0]!);
      else shareOp(same, known, op);
    }
    for (const id of op.outputs) {
      const key = viewKey(given, same, id);
      if (!views.has(key)) views.set(key, id);
    }
  }
}

function hasSymbols({ attrs }: ProgramOp): boolean {
  return Object.values(attrs).some(isSymbolic);
}

/** Ops that stand for a place in the graph, not for what they compute. */
function isMark({ op }: ProgramOp): boolean {
  return op === aliasOp || op === outputGradientOp;
}

function shareOp(same: SameValues, known: Map<string, ProgramOp[]>, op: ProgramOp): void {
  const key = `${op.op.name} ${op.inputs.map((id) => same.now(id)).join()}`;
  const others = known.get(key) ?? [];
  const equal = others.find(({ attrs }) => sameAttrs(attrs, op.attrs, none));
  if (equal && same.replace(op.outputs[0]!, equal.outputs[0]!)) return;
  known.set(key, [...others, op]);
}

function shareView(
  given: Staged,
  same: SameValues,
  views: ReadonlyMap<string, ValueId>,
  id: ValueId,
): void {
  const before = views.get(viewKey(given, same, id));
  if (before !== undefined) same.replace(id, before);
}

/** Views of replaced memory are views of what replaces it. */
function viewKey({ program }: Staged, same: SameValues, id: ValueId): string {
  const { dtype, shape, strides, offset } = program.values[id]!;
  const root = same.now(same.facts.rootOf(id));
  return `${root} ${dtype} ${shape.join()} ${strides.join()} ${offset}`;
}
