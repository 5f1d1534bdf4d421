import { getOrInsert } from '../../../runtime/collections/get-or-insert.ts';
import {
  isInGrid,
  type TileGrid,
  tileGridOf,
  tilePartKind,
} from '../../../runtime/program/fused/tiled-parts.ts';
import { ValueGroups } from '../../../runtime/program/memory-groups.ts';
import type { Program, ProgramOp, ValueId } from '../../../runtime/program/program.ts';
import { writtenOperands } from '../../../runtime/program/writes.ts';
import type { GroupOptions } from './groups.ts';

/** The ops of one attention call, or of its gradient, by index, and the position where all of them may run. */
interface AttentionGroup {
  readonly ops: readonly number[];
  /** Views of the group's operands that appear between its ops, and run before them. */
  readonly views: readonly number[];
  /** The index of the op before which they run. */
  readonly before: number;
}

/**
 * Finds groups around each softmax whose device computes attention by tiles: the products that compute the scores,
 * elementwise ops on them, and products with the result, which are the only values that other ops read.
 */
export function attentionGroups(
  program: Program,
  staying: ReadonlySet<ValueId>,
  options: Pick<GroupOptions, 'fixed' | 'sourcesOf'>,
): AttentionGroup[] {
  const seeds = [...program.ops.keys()].filter((index) => isSeed(program.ops[index]!, program));
  if (seeds.length === 0) return [];
  const finder = new AttentionFinder(program, staying, options);
  return seeds.flatMap((seed) => finder.around(seed) ?? []);
}

function isSeed(op: ProgramOp, { values }: Program): boolean {
  const { kernel } = op.op;
  if (kernel.kind !== 'named' || kernel.name !== 'softmax') return false;
  return tilePartKind(op, values) === 'row';
}

class AttentionFinder {
  readonly #program: Program;
  readonly #staying: ReadonlySet<ValueId>;
  readonly #options: Pick<GroupOptions, 'fixed' | 'sourcesOf'>;
  readonly #memory: ValueGroups;
  readonly #definedAt = new Map<ValueId, number>();
  readonly #readBy = new Map<ValueId, number[]>();
  readonly #taken = new Set<number>();

  constructor(
    program: Program,
    staying: ReadonlySet<ValueId>,
    options: Pick<GroupOptions, 'fixed' | 'sourcesOf'>,
  ) {
    this.#program = program;
    this.#staying = staying;
    this.#options = options;
    this.#memory = new ValueGroups(program.ops, 'memory');
    program.ops.forEach(({ inputs, outputs, before }, index) => {
      for (const id of outputs) this.#definedAt.set(id, index);
      for (const id of new Set(before === undefined ? inputs : [...inputs, before])) {
        getOrInsert(this.#readBy, id, () => []).push(index);
      }
    });
  }

  /** Returns the group around the softmax; null if its surroundings can't be one. */
  around(seed: number): AttentionGroup | null {
    if (this.#taken.has(seed)) return null;
    const grid = tileGridOf(this.#valueOf(seed).shape);
    if (!grid) return null;
    const region = this.#grow(seed, grid);
    const ops = this.#withoutShared(region);
    if (!ops || !this.#areOneSource(ops)) return null;
    const group = this.#placed(ops);
    if (group) for (const index of ops) this.#taken.add(index);
    return group;
  }

  #op(index: number): ProgramOp {
    return this.#program.ops[index]!;
  }

  #valueOf(index: number) {
    return this.#program.values[this.#op(index).outputs[0]!]!;
  }

  /** Returns the op's role in a group; null if one of its values may be missing in a run. */
  #kindOf(index: number) {
    const op = this.#op(index);
    const { fixed } = this.#options;
    if ([...op.inputs, ...op.outputs].some((id) => fixed.has(id))) return null;
    return tilePartKind(op, this.#program.values);
  }

  /** Adds all ops that compute the softmax's operand, read its result, or read a result of both. */
  #grow(seed: number, grid: TileGrid): Map<number, 'element' | 'sum'> {
    const region = new Map<number, 'element' | 'sum'>([[seed, 'element']]);
    const pending = [seed];
    const add = (index: number, role: 'element' | 'sum') => {
      if (region.has(index) || this.#taken.has(index)) return;
      region.set(index, role);
      if (role === 'element') pending.push(index);
    };
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const { inputs, outputs } = this.#op(next);
      const kind = this.#kindOf(next);
      for (const id of kind === 'product' ? [] : inputs) {
        const definition = this.#definedAt.get(id);
        if (definition === undefined) continue;
        const definedBy = this.#kindOf(definition);
        const isShown = definedBy === 'flip' || definedBy === 'alias';
        const isElement = isShown || isInGrid(this.#program.values[id]!, grid);
        if (definedBy !== null && isElement) add(definition, 'element');
      }
      for (const reader of outputs.flatMap((id) => this.#readBy.get(id) ?? [])) {
        const read = this.#kindOf(reader);
        if (read === 'product') add(reader, 'sum');
        else if (read === 'flip' || read === 'alias') add(reader, 'element');
        else if (read !== null && isInGrid(this.#valueOf(reader), grid)) add(reader, 'element');
      }
    }
    return region;
  }

  /**
   * Returns the region without elements that other ops read, such as a mask, if they depend on no product of the
   * region: they remain values. Null if another op reads an element that does.
   */
  #withoutShared(region: ReadonlyMap<number, 'element' | 'sum'>): readonly number[] | null {
    const left = new Set([...region.keys()].sort((a, b) => a - b));
    const fromProducts = new Set<number>();
    for (const index of left) {
      const { inputs } = this.#op(index);
      const follows = inputs.some((id) => fromProducts.has(this.#definedAt.get(id) ?? -1));
      if (follows || this.#kindOf(index) === 'product') fromProducts.add(index);
    }
    for (const index of [...left].reverse()) {
      if (region.get(index) === 'sum') continue;
      const { outputs } = this.#op(index);
      const readers = outputs.flatMap((id) => this.#readBy.get(id) ?? []);
      const isShared =
        outputs.some((id) => this.#staying.has(id)) || readers.some((at) => !left.has(at));
      if (!isShared) continue;
      if (fromProducts.has(index)) return null;
      left.delete(index);
    }
    return [...left];
  }

  /** Whether the ops need the same gradients: a run that lacks one skips the whole group. */
  #areOneSource(ops: readonly number[]): boolean {
    const sources = ops.map((index) => this.#options.sourcesOf(this.#op(index).outputs[0]!));
    const all = sources.reduce((bits, each) => bits | each, 0n);
    return sources.every((bits) => bits === all || bits === 0n);
  }

  /**
   * Finds a position where the ops may run together: after all their operands are computed, and before other ops read
   * their results.
   */
  #placed(ops: readonly number[]): AttentionGroup | null {
    const members = new Set(ops);
    const [first, last] = [ops[0]!, ops.at(-1)!];
    const defined = new Set(ops.flatMap((index) => this.#op(index).outputs));
    const readers = [...defined].flatMap((id) => this.#readBy.get(id) ?? []);
    const outside = readers.filter((index) => !members.has(index));
    const before = Math.min(last + 1, ...outside);
    if (before <= first || this.#areWritten(ops, first, last)) return null;
    const views = new Set<number>();
    const isThere = (id: ValueId): boolean => {
      const definition = this.#definedAt.get(id);
      if (definition === undefined || definition < before) return true;
      if (members.has(definition)) return true;
      const { op, inputs } = this.#op(definition);
      if (op.kernel.kind !== 'view' || !inputs.every(isThere)) return false;
      views.add(definition);
      return true;
    };
    const isReady = ops.every((index) => this.#op(index).inputs.every(isThere));
    return isReady ? { ops, views: [...views].sort((a, b) => a - b), before } : null;
  }

  /** Whether an op between the first and the last one writes their operands, or must keep its position among them. */
  #areWritten(ops: readonly number[], first: number, last: number): boolean {
    const members = new Set(ops);
    const touched = new Set(
      ops.flatMap((index) => this.#op(index).inputs).map((id) => this.#memory.of(id)),
    );
    for (let index = first + 1; index < last; index++) {
      if (members.has(index)) continue;
      const op = this.#op(index);
      if (op.op.kernel.kind === 'control' || op.op.mayRefuse) return true;
      const written = writtenOperands(op).map((i) => this.#memory.of(op.inputs[i]!));
      if (written.some((memory) => touched.has(memory))) return true;
    }
    return false;
  }
}

/** Returns the program with the ops of each group next to each other, and their indices there. */
export function gathered(
  program: Program,
  groups: readonly AttentionGroup[],
): { readonly program: Program; readonly groups: readonly (readonly number[])[] } {
  const moved = new Set(groups.flatMap(({ ops, views }) => [...ops, ...views]));
  const at = new Map<number, AttentionGroup[]>();
  for (const group of groups) at.set(group.before, [...(at.get(group.before) ?? []), group]);
  const ops: ProgramOp[] = [];
  const found: number[][] = [];
  for (let index = 0; index <= program.ops.length; index++) {
    for (const group of at.get(index) ?? []) {
      for (const view of group.views) ops.push(program.ops[view]!);
      found.push(group.ops.map((each) => ops.push(program.ops[each]!) - 1));
    }
    if (index < program.ops.length && !moved.has(index)) ops.push(program.ops[index]!);
  }
  return { program: { ...program, ops }, groups: found };
}
