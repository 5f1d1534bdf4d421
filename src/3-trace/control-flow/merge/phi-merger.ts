import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { commonSizes } from '../../dynamic-shapes/unbacked-shape.ts';
import type { Tracer } from '../../state/tracer.ts';
import {
  absent,
  known,
  type TensorVariable,
  type UnbackedTensor,
  type UnionVariable,
  type Variable,
} from '../../variables/variable.ts';
import type { ArrayContent } from '../lists/array-lengths.ts';
import { addLists, listForm } from '../lists/merge-lists.ts';
import { idOf } from '../places/object-ids.ts';
import { partsOf } from '../places/parts.ts';
import { type Build, buildStructure, Mismatch, type Values } from './build-structure.ts';
import { describeWays, optionsOf } from './describe.ts';
import { isSame } from './is-same.ts';
import { type Leaf, type LeafVariable, leafKind, type OneOf } from './leaf.ts';
import { UnionTags } from './union-tags.ts';
import { classOf } from './variable-class.ts';

/** A structure with its leaves taken out; `build` puts the joined ones in. */
export interface Unified {
  readonly leaves: readonly Leaf[];
  /** How many options its choices have, all together. */
  readonly options: number;
  build(joined: readonly Variable[]): Variable;
}

/** What a loop leaves: arrays of several lengths become lists. Throws Mismatch. */
export function unify(
  t: Tracer,
  ways: Values,
  isOld: (variable: Variable) => boolean,
  tell: (how: string) => string,
  inner: ReadonlySet<object>,
  given: ReadonlySet<Tensor> = none,
): Unified {
  const unifier = new PhiMerger(t, isOld, inner, given, true);
  const build = unifier.add(ways, tell);
  const { leaves, options } = unifier;
  return { leaves, options, build: (joined) => build(joined, new Map()) };
}

/**
 * Unifies what several places hold. What existed before the ways parted is told apart by identity; what
 * they made is made once more, as often as each of them made it.
 */
export class PhiMerger {
  readonly leaves: Leaf[] = [];
  options = 0;
  readonly #t: Tracer;
  readonly #isOld: (variable: Variable) => boolean;
  readonly #given: ReadonlySet<Tensor>;
  /** Structures by what each way gives for them. */
  readonly #builds = new Map<string, Build>();
  /** What the other ways give for a structure that one of them made. */
  readonly #partners = new Map<Variable, string>();
  readonly #selectors = new UnionTags(this.leaves);

  #tell: (how: string) => string = (how) => how;

  /** Arrays of several lengths become lists, whatever they held before. */
  readonly #grows: boolean;

  /** Builders of the regions of the ways. */
  readonly #inner: ReadonlySet<object>;

  /** Tensors that existed before the ways parted are told apart from others, and from one another. */
  readonly #apart: boolean;

  /**
   * `inner`: the builders of the regions of the ways. `given`: values that are leaves even where all ways
   * leave the same one.
   */
  constructor(
    t: Tracer,
    isOld: (variable: Variable) => boolean,
    inner: ReadonlySet<object>,
    given: ReadonlySet<Tensor> = none,
    grows = false,
  ) {
    this.#grows = grows;
    this.#inner = inner;
    this.#t = t;
    this.#isOld = isOld;
    this.#given = given;
    this.#apart = t.control.plans.tellsApart(t.position());
  }

  /** `tell`: how to say what a choice is between. */
  add(ways: Values, tell: (how: string) => string): Build {
    this.#tell = tell;
    return this.#add(ways);
  }

  /** An element of an array whose length is chosen: missing where it is shorter. */
  addElement(ways: readonly ArrayContent[], index: number, tell: (how: string) => string): Build {
    this.#tell = tell;
    const t = this.#t;
    const all = ways.flatMap(({ items }) => items);
    const lengths = [...new Set(all.map(({ length }) => length))].sort((a, b) => a - b);
    const valuesOf = (isMeant: (length: number) => boolean): Values =>
      ways.map(({ items }) => items.find(({ length }) => isMeant(length))?.[index] ?? null);
    // Mostly an element is the same one however many follow it.
    const isShared = ways.every(({ items }) => {
      const [first, ...others] = items.flatMap((each) => each[index] ?? []);
      return others.every((other) => isSame(t, other, first!));
    });
    const longer = (length: number) => length > index;
    const shared = isShared && lengths.some(longer) ? this.#add(valuesOf(longer)) : null;
    if (shared && lengths.every(longer)) return shared;
    const how = describeWays(
      t,
      all.map((each) => each[index] ?? absent),
    );
    if (t.control.policy !== 'always') throw new Mismatch(how);
    this.options += lengths.length;
    const from = tell(how);
    const parts = lengths.map((length) => {
      if (!longer(length)) return () => absent;
      return shared ?? this.#add(valuesOf((each) => each === length));
    });
    const selector = this.#selectors.of(
      ways.map(({ selector }) =>
        selector ? { kind: 'choice', selector, options: [], from } : known(0),
      ),
      ways.map(({ items }) => items.map(({ length }) => lengths.indexOf(length))),
    );
    return (joined, made): UnionVariable => ({
      kind: 'choice',
      selector: selector(joined),
      options: parts.map((part) => part(joined, made)),
      from,
    });
  }

  #add(ways: Values): Build {
    const t = this.#t;
    const present = ways.filter((way): way is Variable => way !== null);
    const [first] = present;
    if (!first) return () => known(undefined);
    // What two ways have in common they both found, unless only one of them counts.
    const shared = present.length === ways.length || !this.#isMadeOnWay(first);
    if (shared && present.every((way) => isSame(t, way, first)) && !this.#isGiven(first)) {
      return () => first;
    }
    const lists = listForm(t, present, this.#isOld, this.#grows);
    if (lists) return addLists(t, ways, lists, this.leaves);
    const sizes = this.#differingSizes(present);
    if (sizes) {
      const values = ways.map((way): LeafVariable | null => {
        return way && { kind: 'opened', value: way as TensorVariable | UnbackedTensor, sizes };
      });
      const index = this.leaves.push({ kind: 'dynamic', values }) - 1;
      return (joined) => joined[index]!;
    }
    const classes = new Set(present.flatMap((way) => optionsOf(way).map(this.#classOf)));
    if (classes.size > 1 || present.some((way) => way.kind === 'choice')) {
      return this.#addChoice(ways, [...classes]);
    }
    const kind = leafKind(t, first);
    if (first.kind === 'text') return this.#addText(ways, first);
    if (!kind) return this.#addStructure(ways, first);
    return this.#addLeaf({ kind, values: ways as Leaf['values'] });
  }

  /** What every way leaves in two places as one value is one value afterwards. */
  #addLeaf(leaf: Leaf): Build {
    const known = this.leaves.findIndex((other) => this.#isSameLeaf(leaf, other));
    const index = known >= 0 ? known : this.leaves.push(leaf) - 1;
    return (joined) => joined[index]!;
  }

  #isSameLeaf(a: Leaf, b: Leaf): boolean {
    if (a.kind !== 'tensor' || b.kind !== 'tensor') return false;
    return a.values.every((value, way) => {
      const other = b.values[way]!;
      if (value === null || other === null) return value === other;
      if (value.kind !== 'tensor' || other.kind !== 'tensor') return false;
      return isSame(this.#t, value, other);
    });
  }

  /** Text has no identity: the same one may be another one on another way. */
  #addText(ways: Values, first: Variable): Build {
    const build: Build = (joined, made) => make(joined, made);
    const make = buildStructure(this.#t, ways, first, build, (parts) => this.#add(parts));
    return build;
  }

  /** Where shapes differ from turn to turn: what is known of those of several ways. */
  #differingSizes(present: readonly Variable[]): UnbackedTensor['sizes'] | null {
    const t = this.#t;
    if (!t.control.plans.shapesDiffer) return null;
    if (new Set(present.map(this.#classOf)).size === 1) return null;
    const sizes = commonSizes(t, present);
    const isKnown = sizes?.every((size) => size !== null);
    return isKnown && present.every(({ kind }) => kind === 'tensor') ? null : sizes;
  }

  /** Some value in it is one of those that are given. */
  #isGiven(variable: Variable, above: ReadonlySet<Variable> = new Set()): boolean {
    if (this.#given.size === 0 || above.has(variable)) return false;
    if (variable.kind === 'tensor')
      return variable.traced !== null && this.#given.has(variable.traced);
    if (variable.kind === 'scalar' || variable.kind === 'list' || variable.kind === 'dynamic') {
      return this.#given.has(variable.tensor);
    }
    const within = new Set([...above, variable]);
    const parts = variable.kind === 'choice' ? [variable.selector.which] : [];
    return [...parts, ...partsOf(variable)].some((part) => part && this.#isGiven(part, within));
  }

  /** What a way computed or made belongs to it, and must be handed out. */
  #isMadeOnWay(variable: Variable): boolean {
    switch (variable.kind) {
      case 'scalar':
      case 'text':
      case 'choice':
      case 'list':
      case 'dynamic':
        return true;
      case 'tensor':
        return variable.source === null && !this.#isKept(variable);
      case 'newArray':
      case 'newObject':
      case 'newCollection':
      case 'closure':
      case 'cell':
        return !this.#isOld(variable);
      default:
        return false;
    }
  }

  /** It existed before the ways parted, and nothing has to stand for it on the other ways. */
  #isKept(variable: TensorVariable): boolean {
    const tensor = this.#t.use(variable);
    const isTold = this.#apart || !tensor.isContiguous;
    return isTold && !this.#inner.has(tensor.traced!.builder);
  }

  readonly #classOf = (variable: Variable): string => {
    const found = classOf(this.#t, variable, this.#isOld);
    if (!this.#apart || variable.kind !== 'tensor' || !this.#isKept(variable)) return found;
    return `${found} tensor number ${idOf(this.#t.use(variable))}`;
  };

  /** Each class of values is an option; of each way, the one that it leaves. */
  #addChoice(ways: Values, classes: readonly string[]): Build {
    const how = describeWays(this.#t, ways);
    const from = this.#tell(how);
    if (this.#t.control.policy !== 'always') throw new Mismatch(how);
    this.options += classes.length;
    const numbers = ways.map((way) => {
      if (!way) return null;
      const numbers = optionsOf(way).map((option) => classes.indexOf(this.#classOf(option)));
      const isTensor = (option: Variable) => option.kind === 'tensor';
      if (new Set(numbers).size < numbers.length && !optionsOf(way).every(isTensor)) {
        throw new Mismatch(`${how}, of which two are one on another way`);
      }
      return numbers;
    });
    const options = classes.map((_, number) => this.#addOption(ways, numbers, number));
    if (classes.length === 1) return options[0]!;
    const selector = this.#selectors.of(ways, numbers);
    const build: Build = (joined, made): UnionVariable => ({
      kind: 'choice',
      selector: selector(joined),
      options: options.map((option) => option(joined, made)),
      from,
    });
    return build;
  }

  /** What each way has of one class; several tensors of a choice become one. */
  #addOption(ways: Values, numbers: Numbers, number: number): Build {
    const found = ways.map((way, i) => {
      if (!way) return [];
      return optionsOf(way).map((option, k) => (numbers[i]![k] === number ? option : null));
    });
    const kept = found.map((options) => options.filter((option) => option !== null));
    if (kept.every(({ length }) => length <= 1)) return this.#add(kept.map(([one]) => one ?? null));
    const values = ways.map((way, i): LeafVariable | null => {
      const [first, ...others] = kept[i]!;
      if (!first) return null;
      if (others.length === 0) return first as TensorVariable;
      const { which } = (way as UnionVariable).selector;
      return { kind: 'oneOf', which: which.tensor, options: found[i] as OneOf['options'] };
    });
    return this.#addLeaf({ kind: 'tensor', values });
  }

  #addStructure(ways: Values, first: Variable): Build {
    const key = ways.map((way) => (way ? idOf(way) : '-')).join();
    const existing = this.#builds.get(key);
    if (existing) return existing;
    for (const way of ways) {
      const partners = way && this.#partners.get(way);
      if (partners === undefined || partners === null) continue;
      // Somewhere else it is read on this way only.
      if (ways.includes(null)) return this.#builds.get(partners)!;
      throw new Mismatch('one object on one way and two on another');
    }
    let make: Build | null = null;
    // An object that is reached twice is made once, and may contain itself.
    const build: Build = (joined, made) => made.get(build) ?? make!(joined, made);
    this.#builds.set(key, build);
    for (const way of ways) if (way) this.#partners.set(way, key);
    make = buildStructure(this.#t, ways, first, build, (parts) => this.#add(parts));
    return build;
  }
}

/** Per way, the number of each of its options among those of all. */
type Numbers = readonly (readonly number[] | null)[];

const none: ReadonlySet<Tensor> = new Set();
