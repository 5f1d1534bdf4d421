import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import { commonSizes } from '../../dynamic-shapes/unbacked-shape.ts';
import { idOf } from '../../state/object-ids.ts';
import type { Tracer } from '../../state/tracer.ts';
import {
  absent,
  hole,
  known,
  prototypeOf,
  type TensorVariable,
  type UnbackedTensor,
  type UnionVariable,
  type Variable,
} from '../../variables/variable.ts';
import { containedIn } from '../locations/contained-variables.ts';
import { type Leaf, type LeafVariable, leafKind, type OneOf } from '../numbers/leaf.ts';
import type { ArrayContent } from './array-lengths.ts';
import { type Build, buildStructure, Mismatch, type Values } from './build-structure.ts';
import { describePaths, optionsOf } from './describe.ts';
import { isSame } from './is-same.ts';
import { addLists, listForm } from './merge-lists.ts';
import { UnionTags } from './union-tags.ts';
import { classOf } from './variable-class.ts';

/** A structure without its leaves. `build` inserts the merged leaves. */
export interface Merged {
  readonly leaves: readonly Leaf[];
  /** The total number of options of its unions. */
  readonly options: number;
  build(joined: readonly Variable[]): Variable;
}

/** Merges the values of a loop. Arrays of different lengths become lists. Throws Mismatch. */
export function mergePhis(
  t: Tracer,
  paths: Values,
  isOld: (variable: Variable) => boolean,
  tell: (how: string) => string,
  inner: ReadonlySet<object>,
  forcedLeaves: ReadonlySet<Tensor> = none,
): Merged {
  const merger = new PhiMerger(t, isOld, inner, forcedLeaves, true);
  const build = merger.add(paths, tell);
  const { leaves, options } = merger;
  return { leaves, options, build: (joined) => build(joined, new Map()) };
}

/**
 * Merges the values of several locations. Pre-existing objects are compared by identity. Objects that the paths created
 * are created again, as many as on each path.
 */
export class PhiMerger {
  readonly leaves: Leaf[] = [];
  options = 0;
  readonly #t: Tracer;
  readonly #isOld: (variable: Variable) => boolean;
  readonly #forcedLeaves: ReadonlySet<Tensor>;
  /** Structures by the values that the paths have for them. */
  readonly #builds = new Map<string, Build>();
  /** For each object that a path created, the key of the structure it belongs to. */
  readonly #partners = new Map<Variable, string>();
  readonly #selectors = new UnionTags(this.leaves);

  #tell: (how: string) => string = (how) => how;

  /** True if arrays of different lengths become lists regardless of their earlier contents. */
  readonly #grows: boolean;

  /** Builders of the paths' regions. */
  readonly #inner: ReadonlySet<object>;

  /** Whether tensors that existed before the paths diverged are distinguished from each other and from new tensors. */
  readonly #distinguishes: boolean;

  /**
   * `inner`: the builders of the paths' regions. `forcedLeaves`: values that are leaves even if all paths produce the
   * same one.
   */
  constructor(
    t: Tracer,
    isOld: (variable: Variable) => boolean,
    inner: ReadonlySet<object>,
    forcedLeaves: ReadonlySet<Tensor> = none,
    grows = false,
  ) {
    this.#grows = grows;
    this.#inner = inner;
    this.#t = t;
    this.#isOld = isOld;
    this.#forcedLeaves = forcedLeaves;
    this.#distinguishes = t.control.plans.distinguishes(t.position());
  }

  /** `tell`: formats the description of a union. */
  add(paths: Values, tell: (how: string) => string): Build {
    this.#tell = tell;
    return this.#add(paths);
  }

  /** Adds an element of an array whose length depends on the path: absent where the array is shorter. */
  addElement(paths: readonly ArrayContent[], index: number, tell: (how: string) => string): Build {
    this.#tell = tell;
    const t = this.#t;
    const all = paths.flatMap(({ items }) => items);
    const lengths = [...new Set(all.map(({ length }) => length))].sort((a, b) => a - b);
    const valuesOf = (isMeant: (length: number) => boolean): Values =>
      paths.map(({ items }) => items.find(({ length }) => isMeant(length))?.[index] ?? null);
    // An element usually doesn't depend on the number of elements after it.
    const isShared = paths.every(({ items }) => {
      const [first, ...others] = items.flatMap((each) => each[index] ?? []);
      return others.every((other) => isSame(t, other, first!));
    });
    const longer = (length: number) => length > index;
    const shared = isShared && lengths.some(longer) ? this.#add(valuesOf(longer)) : null;
    if (shared && lengths.every(longer)) return shared;
    const how = describePaths(
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
      paths.map(({ selector }) =>
        selector ? { kind: 'union', selector, options: [], from } : known(0),
      ),
      paths.map(({ items }) => items.map(({ length }) => lengths.indexOf(length))),
    );
    return (joined, built): UnionVariable => ({
      kind: 'union',
      selector: selector(joined),
      options: parts.map((part) => part(joined, built)),
      from,
    });
  }

  #add(paths: Values): Build {
    const t = this.#t;
    const present = paths.filter((path): path is Variable => path !== null);
    const [first] = present;
    if (!first) return () => known(undefined);
    // A value common to all paths existed before they diverged, unless only one path produces it.
    const shared = present.length === paths.length || !this.#isMadeOnPath(first);
    if (
      shared &&
      present.every((path) => isSame(t, path, first)) &&
      !this.#containsForcedLeaf(first)
    ) {
      return () => first;
    }
    if (present.includes(hole)) throw new Mismatch(describePaths(t, present));
    const lists = listForm(t, present, this.#isOld, this.#grows);
    if (lists) return addLists(t, paths, lists, this.leaves);
    const sizes = this.#differingSizes(present);
    if (sizes) {
      const values = paths.map((path): LeafVariable | null => {
        return path && { kind: 'opened', value: path as TensorVariable | UnbackedTensor, sizes };
      });
      const index = this.leaves.push({ kind: 'dynamic', values }) - 1;
      return (joined) => joined[index]!;
    }
    const classes = new Set(present.flatMap((path) => optionsOf(path).map(this.#classOf)));
    if (classes.size > 1 || present.some((path) => path.kind === 'union')) {
      return this.#addUnion(paths, [...classes]);
    }
    const kind = leafKind(t, first);
    if (first.kind === 'text') return this.#addText(paths, first);
    if (!kind) return this.#addStructure(paths, first);
    return this.#addLeaf({ kind, values: paths as Leaf['values'] });
  }

  /** Adds a leaf. A value that every path has in two locations remains a single value. */
  #addLeaf(leaf: Leaf): Build {
    const known = this.leaves.findIndex((other) => this.#isSameLeaf(leaf, other));
    const index = known >= 0 ? known : this.leaves.push(leaf) - 1;
    return (joined) => joined[index]!;
  }

  #isSameLeaf(a: Leaf, b: Leaf): boolean {
    if (a.kind !== 'tensor' || b.kind !== 'tensor') return false;
    return a.values.every((value, path) => {
      const other = b.values[path]!;
      if (value === null || other === null) return value === other;
      if (value.kind !== 'tensor' || other.kind !== 'tensor') return false;
      return isSame(this.#t, value, other);
    });
  }

  /** Adds text, which has no identity: the same text may differ on another path. */
  #addText(paths: Values, first: Variable): Build {
    const build: Build = (joined, built) => make(joined, built);
    const make = buildStructure(this.#t, paths, first, build, this.#partMerger);
    return build;
  }

  /** Returns the sizes that the paths have in common, if shapes may differ between iterations. */
  #differingSizes(present: readonly Variable[]): UnbackedTensor['sizes'] | null {
    const t = this.#t;
    if (!t.control.plans.shapesDiffer) return null;
    if (new Set(present.map(this.#classOf)).size === 1) return null;
    const sizes = commonSizes(t, present);
    const isKnown = sizes?.every((size) => size !== null);
    return isKnown && present.every(({ kind }) => kind === 'tensor') ? null : sizes;
  }

  /** Returns whether the variable contains a forced leaf. */
  #containsForcedLeaf(variable: Variable, above: ReadonlySet<Variable> = new Set()): boolean {
    if (this.#forcedLeaves.size === 0 || above.has(variable)) return false;
    if (variable.kind === 'tensor')
      return variable.traced !== null && this.#forcedLeaves.has(variable.traced);
    if (variable.kind === 'scalar' || variable.kind === 'list' || variable.kind === 'dynamic') {
      return this.#forcedLeaves.has(variable.tensor);
    }
    const within = new Set([...above, variable]);
    const parts = variable.kind === 'union' ? [variable.selector.which] : [];
    return [...parts, ...containedIn(variable)].some(
      (part) => part && this.#containsForcedLeaf(part, within),
    );
  }

  /** Returns whether a path computed or created the value, so that its region must return it. */
  #isMadeOnPath(variable: Variable): boolean {
    switch (variable.kind) {
      case 'scalar':
      case 'text':
      case 'union':
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
      case 'class':
        return this.#isInner(variable.prototype);
      case 'bound':
      case 'iterator':
        return variable.madeIn !== undefined && this.#inner.has(variable.madeIn);
      case 'generator':
      case 'newPromise':
        // It can't be built from merged parts, so all paths share it only if it doesn't depend on the path.
        return this.#inner.has(variable.madeIn) && this.#dependsOnPath(variable);
      default:
        return false;
    }
  }

  /** Returns whether a path computed or created anything that the object refers to. */
  #dependsOnPath(object: Variable, above: ReadonlySet<Variable> = new Set()): boolean {
    const within = new Set([...above, object]);
    return containedIn(object).some((part) => {
      if (!part || within.has(part)) return false;
      return this.#isMadeOnPath(part) || this.#dependsOnPath(part, within);
    });
  }

  /**
   * Returns whether a path created the class with this prototype, whose methods refer to variables of the path.
   */
  #isInner(prototype: Variable | null | undefined): boolean {
    for (let at = prototype; at?.kind === 'newObject'; at = prototypeOf(at)) {
      if (this.#t.classes.has(at) && at.madeIn && this.#inner.has(at.madeIn)) return true;
    }
    return false;
  }

  /** Returns whether the tensor existed before the paths diverged and needs no representative on other paths. */
  #isKept(variable: TensorVariable): boolean {
    const tensor = this.#t.use(variable);
    const isDistinguished = this.#distinguishes || !tensor.isContiguous;
    return isDistinguished && !this.#inner.has(tensor.traced!.builder);
  }

  readonly #partMerger = {
    add: (parts: Values) => this.#add(parts),
    isMadeOnPath: (tensor: TensorVariable) => this.#inner.has(this.#t.use(tensor).traced!.builder),
  };

  readonly #classOf = (variable: Variable): string => {
    const found = classOf(this.#t, variable, this.#isOld);
    if (!this.#distinguishes || variable.kind !== 'tensor' || !this.#isKept(variable)) return found;
    return `${found} tensor number ${idOf(this.#t.use(variable))}`;
  };

  /** Adds a union with one option per class of values. Each path selects its own option. */
  #addUnion(paths: Values, classes: readonly string[]): Build {
    const how = describePaths(this.#t, paths);
    const from = this.#tell(how);
    if (this.#t.control.policy !== 'always') throw new Mismatch(how);
    this.options += classes.length;
    const numbers = paths.map((path) => {
      if (!path) return null;
      const numbers = optionsOf(path).map((option) => classes.indexOf(this.#classOf(option)));
      const isTensor = (option: Variable) => option.kind === 'tensor';
      if (new Set(numbers).size < numbers.length && !optionsOf(path).every(isTensor)) {
        throw new Mismatch(`${how}, of which two are one on another path`);
      }
      return numbers;
    });
    const options = classes.map((_, number) => this.#addOption(paths, numbers, number));
    if (classes.length === 1) return options[0]!;
    const selector = this.#selectors.of(paths, numbers);
    const build: Build = (joined, built): UnionVariable => ({
      kind: 'union',
      selector: selector(joined),
      options: options.map((option) => option(joined, built)),
      from,
    });
    return build;
  }

  /** Adds all values of one class. Several tensors of a union become a single leaf. */
  #addOption(paths: Values, numbers: Numbers, number: number): Build {
    const found = paths.map((path, i) => {
      if (!path) return [];
      return optionsOf(path).map((option, k) => (numbers[i]![k] === number ? option : null));
    });
    const kept = found.map((options) => options.filter((option) => option !== null));
    if (kept.every(({ length }) => length <= 1)) return this.#add(kept.map(([one]) => one ?? null));
    const values = paths.map((path, i): LeafVariable | null => {
      const [first, ...others] = kept[i]!;
      if (!first) return null;
      if (others.length === 0) return first as TensorVariable;
      const { which } = (path as UnionVariable).selector;
      return { kind: 'oneOf', which: which.tensor, options: found[i] as OneOf['options'] };
    });
    return this.#addLeaf({ kind: 'tensor', values });
  }

  #addStructure(paths: Values, first: Variable): Build {
    const key = paths.map((path) => (path ? idOf(path) : '-')).join();
    const existing = this.#builds.get(key);
    if (existing) return existing;
    for (const path of paths) {
      const partners = path && this.#partners.get(path);
      if (partners === undefined || partners === null) continue;
      // The other location reads it only on this path.
      if (paths.includes(null)) return this.#builds.get(partners)!;
      throw new Mismatch('one object on one path and two on another');
    }
    if (first.kind === 'newObject' && this.#isInner(prototypeOf(first))) {
      throw new Mismatch('an instance of a class that a path makes');
    }
    let make: Build | null = null;
    // An object that is reached twice is built once; it may contain itself.
    const build: Build = (joined, built) => built.get(build) ?? make!(joined, built);
    this.#builds.set(key, build);
    for (const path of paths) if (path) this.#partners.set(path, key);
    make = buildStructure(this.#t, paths, first, build, this.#partMerger);
    return build;
  }
}

/** For each path, the indices of its options among the options of all paths. */
type Numbers = readonly (readonly number[] | null)[];

const none: ReadonlySet<Tensor> = new Set();
