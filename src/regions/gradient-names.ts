import { noGrad } from '../../runtime/autograd/grad-mode.ts';
import type { GradientEdge } from '../../runtime/autograd/gradient-edge.ts';
import { edgeOf, indexOf, keyOf } from '../../runtime/autograd/gradient-edge.ts';
import type { Inboxes, Names } from '../../runtime/backward/gradient-names.ts';
import { sum } from '../../runtime/backward/sum.ts';
import { bind1 } from '../../runtime/ops/core/bind.ts';
import { listAt, mayBeList } from '../../runtime/program/list-ops.ts';
import { nameGradientOp } from '../../runtime/program/optional-gradients.ts';
import type { GradNode } from '../../runtime/tensor/grad-node.ts';
import type { Tensor } from '../../runtime/tensor/tensor.ts';
import { ControlNode } from './control-node.ts';

/** A tensor with an incoming gradient, or a partial sum. */
interface Start {
  readonly tensor: Tensor;
  readonly isSum?: boolean;
}

/** A contribution to a tensor's gradient by the node with this number, possibly of several terms. */
interface Contribution {
  readonly since: number;
  readonly parts: number;
}

/** One of the names of a tensor. */
class Name {
  readonly tensor: Tensor;
  readonly edge: GradientEdge;
  readonly contributions: Contribution[] = [];
  /** Older names that its tensor may have as well. */
  readonly others = new Set<Name>();
  #above: Name | null = null;

  constructor(tensor: Tensor) {
    this.tensor = tensor;
    this.edge = edgeOf(tensor);
  }

  get group(): Name {
    return this.#above?.group ?? this;
  }

  join(other: Name): void {
    if (other.group !== this.group) this.group.#above = other.group;
  }

  /** The number of the node that created it; leaves are older. */
  get sequence(): number {
    return 'node' in this.edge ? this.edge.node.sequence : -1;
  }

  /** The number of terms that it receives from nodes younger than `sequence`. */
  partsSince(sequence: number): number {
    return this.contributions.reduce(
      (sum, { since, parts }) => (since > sequence ? sum + parts : sum),
      0,
    );
  }
}

/** The number of terms that a branch or loop may contribute; it represents any larger number. */
const many = 2;

/**
 * In: the starts of a backward; the leaves that may be the same tensor, in groups; and the tensors that elements of
 * lists may be. `continues`: contributions to leaves may be added to those of other leaves. Out: the names of each
 * tensor, for the engine; undefined if no sum depends on them.
 *
 * Branches and loops forward tensors under other names. Only at run time is it known which tensor a name refers to:
 * each contribution is then added to the sum of its tensor's oldest name, so that sums keep the order of eager
 * execution. If a name has no other contributions before the op that forwards it, the sum doesn't depend on that.
 */
export function gradientNames(
  starts: readonly Start[],
  sameLeaves: readonly (readonly Tensor[])[] = [],
  continues = false,
  elements: readonly (readonly Tensor[])[] = [],
): NameTable | undefined {
  const nodes = nodesBehind(starts);
  const groups = [
    ...sameLeaves,
    ...elements,
    ...nodes.flatMap((node) => (node instanceof ControlNode ? node.same : [])),
  ];
  if (groups.length === 0) return undefined;
  const names = new NameTable(groups);
  for (const edge of continues ? names.leaves() : []) {
    names.at(edge)!.contributions.push({ since: Infinity, parts: many });
  }
  for (const { tensor, isSum } of starts) {
    names.at(edgeOf(tensor))?.contributions.push({ since: Infinity, parts: isSum ? many : 1 });
  }
  for (const node of nodes) {
    const parts = node instanceof ControlNode ? many : 1;
    for (const target of node.targets) {
      if (target) names.at(target)?.contributions.push({ since: node.sequence, parts });
    }
  }
  const leaves = sameLeaves.map((group) =>
    group.flatMap((tensor) => names.at(edgeOf(tensor)) ?? []),
  );
  return names.connect(leaves) ? names : undefined;
}

class NameTable implements Names {
  readonly #names = new Map<GradNode | Tensor, Map<number, Name>>();
  readonly #all: Name[] = [];
  readonly #edgesOf = new Map<Name, readonly GradientEdge[]>();

  constructor(groups: readonly (readonly Tensor[])[]) {
    for (const group of groups) {
      const tensors = group.filter((each) => each.requiresGrad && !mayBeList(each));
      const [first, ...others] = tensors.map((tensor) => this.#nameOf(tensor));
      for (const other of others) other.join(first!);
    }
  }

  #nameOf(tensor: Tensor): Name {
    const edge = edgeOf(tensor);
    const known = this.at(edge);
    if (known) return known;
    const name = new Name(tensor);
    this.#all.push(name);
    const ofKey = this.#names.get(keyOf(edge)) ?? new Map<number, Name>();
    this.#names.set(keyOf(edge), ofKey.set(indexOf(edge), name));
    return name;
  }

  leaves(): readonly GradientEdge[] {
    return this.#all.flatMap(({ edge }) => ('leaf' in edge ? [edge] : []));
  }

  at(edge: GradientEdge): Name | undefined {
    return this.#names.get(keyOf(edge))?.get(indexOf(edge));
  }

  /** Finds the names that contributions may belong to. Returns whether some may belong to another name. */
  connect(leaves: readonly (readonly Name[])[]): boolean {
    for (const group of leaves) this.#connectLeaves(group);
    const results = this.#all.filter(
      ({ edge }) =>
        'node' in edge && (edge.node instanceof ControlNode || edge.node.name === listAt.name),
    );
    for (let count = -1; count !== this.#edges; ) {
      count = this.#edges;
      for (const name of results) this.#connectResult(name);
    }
    for (const name of this.#all) {
      if (name.others.size === 0) continue;
      const others = [...name.others].sort((a, b) => this.#age(b, leaves) - this.#age(a, leaves));
      this.#edgesOf.set(
        name,
        [...others, name].map(({ edge }) => edge),
      );
    }
    return this.#edgesOf.size > 0;
  }

  get #edges(): number {
    return this.#all.reduce((sum, { others }) => sum + others.size, 0);
  }

  /** Connects leaves; in a region these are operands, and the last one has the partial sum. */
  #connectLeaves(group: readonly Name[]): void {
    const [first] = group;
    const own = this.#all.filter((each) => each.group === first?.group);
    const parts = own.reduce((sum, each) => sum + withoutSums(each), 0);
    if (parts < many) return;
    group.forEach((name, i) => {
      for (const other of group.slice(i + 1)) if (other !== name) name.others.add(other);
    });
  }

  #connectResult(name: Name): void {
    const parts = name.partsSince(-1);
    if (parts === 0) return;
    const since = name.sequence;
    const older = this.#all.filter(
      (other) => other !== name && other.group === name.group && isOlder(other, name),
    );
    const before = older.map((other) => {
      const through = this.#all.filter((each) => each !== name && each.others.has(other));
      const from = other.sequence === since ? -1 : since;
      return [other, ...through].reduce((sum, each) => sum + each.partsSince(from), 0);
    });
    const all = before.reduce((a, b) => a + b, 0);
    if (parts + all <= many) return;
    older.forEach((other, i) => {
      if (before[i]! > 0) name.others.add(other);
    });
  }

  /** Higher for older names. */
  #age(name: Name, leaves: readonly (readonly Name[])[]): number {
    if ('node' in name.edge) return -name.sequence + name.edge.index / 2 ** 20;
    return 1 + Math.max(0, ...leaves.map((group) => group.indexOf(name)));
  }

  /** Returns the leaves that contributions to other names may belong to. */
  get otherLeaves(): readonly Tensor[] {
    const leaves = new Set(this.#all.flatMap(({ others }) => [...others]));
    return [...leaves].flatMap(({ edge, tensor }) => ('leaf' in edge ? [tensor] : []));
  }

  /** Returns the tensor's edges, older names first. */
  of(edge: GradientEdge): readonly GradientEdge[] {
    const name = this.at(edge);
    return (name && this.#edgesOf.get(name)) ?? [edge];
  }

  deliver(edge: GradientEdge, gradient: Tensor | null, inboxes: Inboxes): void {
    const edges = this.of(edge);
    const parts = gradient && edges.length > 1 ? this.#split(edges, gradient) : null;
    edges.forEach((each, i) => {
      inboxes.put(each, parts ? parts[i]! : gradient);
    });
  }

  take({ targets }: GradNode, edge: GradientEdge, inboxes: Inboxes): Tensor | null {
    let taken = inboxes.take(edge);
    for (const other of this.of(edge).slice(0, -1)) {
      const isTarget = targets.some(
        (each) => each && keyOf(each) === keyOf(other) && indexOf(each) === indexOf(other),
      );
      const found = isTarget ? null : inboxes.take(other);
      if (!found) continue;
      const [own, rest] = this.#split([other, edge], found) as [Tensor, Tensor];
      inboxes.set(other, rest);
      taken = taken ? sum(taken, own) : own;
    }
    return taken;
  }

  /** Returns the contribution at each of the edges: in a run, all but one are missing. */
  #split(edges: readonly GradientEdge[], gradient: Tensor): readonly Tensor[] {
    const tensors = edges.map((edge) => this.at(edge)!.tensor);
    const name = tensors.at(-1)!;
    let rest = gradient;
    const parts = tensors.slice(0, -1).map((other) => {
      const [same, apart] = [false, true].map((apart) =>
        noGrad(() => bind1(nameGradientOp, [rest, name, other], { apart })),
      );
      rest.dispose();
      rest = apart!;
      return same!;
    });
    return [...parts, rest];
  }
}

/** Compares the ages of two names; the last result of an op is its oldest. */
function isOlder({ edge: a }: Name, { edge: b }: Name): boolean {
  if (!('node' in b)) return false;
  if (!('node' in a)) return true;
  return a.node === b.node ? a.index > b.index : a.node.sequence < b.node.sequence;
}

const withoutSums = ({ contributions }: Name): number =>
  contributions.reduce(
    (sum, { parts, since }) => (since === Infinity && parts > 1 ? sum : sum + parts),
    0,
  );

function nodesBehind(starts: readonly Start[]): readonly GradNode[] {
  const nodes = new Set(starts.flatMap(({ tensor }) => tensor.gradEdge?.node ?? []));
  // Also visits elements added meanwhile.
  for (const node of nodes) {
    for (const target of node.targets) if (target && 'node' in target) nodes.add(target.node);
  }
  return [...nodes];
}
