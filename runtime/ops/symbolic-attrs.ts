import type { Attrs, AttrValue, OpRecord } from './define-op.ts';
import { nodesOf } from './expr-nodes.ts';
import type { KernelName } from './kernel-names.ts';
import { isSymbolic } from './symbolic-number.ts';

const known = new WeakMap<OpRecord, ReadonlySet<string>>();

/**
 * Attributes that may differ from run to run: the numbers of a scalar function, and what `fill` writes.
 * Exponents are left out, since kernels are chosen by them; so is whatever decides a shape.
 */
export function symbolicAttrs(op: OpRecord): ReadonlySet<string> {
  let names = known.get(op);
  if (!names) {
    names = namesOf(op);
    known.set(op, names);
  }
  return names;
}

/** Of named kernels: what `fill` writes, and where random numbers begin. */
const changingAttrs = new Map<KernelName, readonly string[]>([
  ['fill', ['value']],
  ['uniform', ['seed', 'offset']],
  ['normal', ['seed', 'offset']],
]);

function namesOf({ kernel }: OpRecord): ReadonlySet<string> {
  if (kernel.kind === 'onCpu') return symbolicAttrs(kernel.op);
  if (kernel.kind === 'named') return new Set(changingAttrs.get(kernel.name) ?? []);
  if (kernel.kind !== 'pointwise') return new Set();
  const nodes = nodesOf(kernel.expr);
  const exponents = new Set(
    nodes.flatMap((node) =>
      node.kind === 'binary' && node.fn === 'pow' && node.y.kind === 'attr' ? [node.y.name] : [],
    ),
  );
  const names = nodes.flatMap((node) => (node.kind === 'attr' ? [node.name] : []));
  return new Set(names.filter((name) => !exponents.has(name)));
}

/** Symbolic numbers only in `allowed` attributes; of all others the present value, which is needed. */
export function settledAttrs(attrs: Attrs, allowed: ReadonlySet<string>): Attrs {
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
  const isList = typeof value === 'object';
  return isList && value.some(isSymbolic) ? value.map((item) => +item) : value;
}
