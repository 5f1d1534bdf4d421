import { invariant } from '../errors/invariant.ts';
import type { Expr } from '../ops/expr/expr.ts';
import { nodesOf } from '../ops/expr/expr-nodes.ts';
import { type FusedBody, fusedAttr } from '../ops/expr/fused-body.ts';
import { isSymbolic, type SymbolicNumber } from '../ops/numbers/symbolic-number.ts';
import type { KernelName } from './kernel-names.ts';
import { type Attrs, type AttrValue, isComposite, type KernelOp } from './kernel-op.ts';
import { stageAttr } from './staged-body.ts';
import type { TensorMeta } from './tensor-meta.ts';

const launched = new WeakMap<KernelOp, ReadonlySet<string>>();
const symbolic = new WeakMap<KernelOp, ReadonlySet<string>>();

/**
 * Returns the attributes that a bound kernel receives at each launch: the numbers of a scalar function, and the
 * value of `fill`. Exponents are excluded, because they select GPU kernels.
 */
export function launchAttrs(op: KernelOp): ReadonlySet<string> {
  return remembered(launched, op, launchNames);
}

/**
 * Returns the attributes that a program may compute per run, by passing them at launch or rebinding the kernel. None of
 * them affects a shape.
 */
export function symbolicAttrs(op: KernelOp): ReadonlySet<string> {
  return remembered(symbolic, op, (own) => {
    const { kernel, numbers = [] } = own;
    if (kernel.kind === 'onCpu') return symbolicAttrs(kernel.op);
    if (kernel.kind === 'fused') return fusedNumbers(kernel.body);
    if (isComposite(kernel)) return launchAttrs(own);
    const read = kernel.kind === 'pointwise' ? numbersOf(kernel.expr).names : [];
    return new Set([...launchAttrs(own), ...read, ...numbers]);
  });
}

function remembered(
  known: WeakMap<KernelOp, ReadonlySet<string>>,
  op: KernelOp,
  find: (op: KernelOp) => ReadonlySet<string>,
): ReadonlySet<string> {
  let names = known.get(op);
  if (!names) {
    names = find(op);
    known.set(op, names);
  }
  return names;
}

/** Attributes of named kernels that may change between launches: the value of `fill`, and offsets of random numbers. */
const changingAttrs = new Map<KernelName, readonly string[]>([
  ['fill', ['value']],
  ['uniform', ['seed', 'offset']],
  ['normal', ['seed', 'offset']],
]);

function launchNames({ kernel }: KernelOp): ReadonlySet<string> {
  if (kernel.kind === 'onCpu') return launchAttrs(kernel.op);
  if (kernel.kind === 'fused') return fusedNumbers(kernel.body);
  if (kernel.kind === 'staged') return partNumbers(kernel.body.stages);
  if (kernel.kind === 'tiled') return partNumbers(kernel.body.parts);
  if (kernel.kind === 'list') {
    return partNumbers(kernel.body.items.map(({ op }, part) => ({ op, part })));
  }
  if (kernel.kind === 'named') return new Set(changingAttrs.get(kernel.name) ?? []);
  if (kernel.kind !== 'pointwise') return new Set();
  const { names, exponents } = numbersOf(kernel.expr);
  return new Set(names.filter((name) => !exponents.has(name)));
}

/** Returns the names of all part attributes, which a fused launch receives. */
function fusedNumbers({ parts }: FusedBody): ReadonlySet<string> {
  return new Set(
    parts.flatMap(({ expr }, i) => numbersOf(expr).names.map((name) => fusedAttr(i, name))),
  );
}

/** Returns the attributes that parts receive, by their names in the whole op. */
function partNumbers(
  parts: readonly { readonly op: KernelOp; readonly part: number }[],
): ReadonlySet<string> {
  return new Set(
    parts.flatMap(({ op, part }) => [...launchAttrs(op)].map((name) => stageAttr(part, name))),
  );
}

/** Returns the attributes that a scalar function reads, and which of them are exponents. */
function numbersOf(expr: Expr): {
  readonly names: readonly string[];
  readonly exponents: ReadonlySet<string>;
} {
  const nodes = nodesOf(expr);
  const exponents = nodes.flatMap((node) =>
    node.kind === 'binary' && node.fn === 'pow' && node.y.kind === 'attr' ? [node.y.name] : [],
  );
  const names = nodes.flatMap((node) => (node.kind === 'attr' ? [node.name] : []));
  return { names, exponents: new Set(exponents) };
}

/** Replaces symbolic numbers by their trace values, without adding dependencies. */
export function presentAttrs(attrs: Attrs): Attrs {
  let present: Record<string, AttrValue> | undefined;
  for (const name in attrs) {
    const value = attrs[name]!;
    if (!isChanging(value)) continue;
    present ??= { ...attrs };
    present[name] = isSymbolic(value)
      ? value.value
      : value.map((item) => (isSymbolic(item) ? item.value : item));
  }
  return present ?? attrs;
}

/** Returns the meta of a view in a program with its trace-time offset. */
export function presentView(
  { name, kernel }: KernelOp,
  inputs: readonly TensorMeta[],
  attrs: Attrs,
): TensorMeta {
  invariant(kernel.kind === 'view', `${name} is not a view`);
  return kernel.view(inputs, presentAttrs(attrs));
}

/** Whether a run computes any attribute of the op. */
export function hasChangingAttrs(attrs: Attrs): boolean {
  return Object.values(attrs).some(isChanging);
}

/** Whether the attribute is a symbolic number, or a list containing one. */
export function isChanging(value: AttrValue): value is SymbolicNumber | readonly number[] {
  if (isSymbolic(value)) return true;
  // An extension of Object.prototype, read as an attribute, may be any object.
  return Array.isArray(value) && value.some(isSymbolic);
}

/** Keeps symbolic numbers only in `allowed` attributes; elsewhere, their current value becomes a dependency. */
export function resolvedAttrs(attrs: Attrs, allowed: ReadonlySet<string>): Attrs {
  let settled: Record<string, AttrValue> | undefined;
  for (const name in attrs) {
    const value = attrs[name]!;
    const fixed = allowed.has(name) ? value : settledValue(value);
    if (fixed === value) continue;
    settled ??= { ...attrs };
    settled[name] = fixed;
  }
  return settled ?? attrs;
}

function settledValue(value: AttrValue): AttrValue {
  if (isSymbolic(value)) return Number(value);
  return Array.isArray(value) && value.some(isSymbolic) ? value.map((item) => +item) : value;
}
