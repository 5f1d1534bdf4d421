import type { Tensor } from '../../../runtime/tensor/tensor.ts';
import { constantOf } from '../facts.ts';
import type { Tracer } from '../tracer.ts';
import {
  absent,
  type ChoiceVariable,
  type ConstantVariable,
  known,
  type ListVariable,
  type NewArrayVariable,
  type ScalarVariable,
  type Selector,
  type SymbolicVariable,
  type TensorVariable,
  uninitializedVariable,
  type Variable,
} from '../variable.ts';
import { describeWays, optionsOf } from './describe.ts';
import { grownArray, isGrown } from './grown-array.ts';
import { isSame } from './is-same.ts';
import { emptyList, listable } from './list-elements.ts';
import { partsOf } from './parts.ts';
import { classOf, idOf } from './variable-class.ts';

/** The number of an option, from the number that it has among those of another choice. */
export interface Renumbered {
  readonly kind: 'renumbered';
  readonly which: Tensor;
  readonly to: readonly number[];
}

export type LeafVariable =
  | TensorVariable
  | ScalarVariable
  | ConstantVariable
  | SymbolicVariable
  | ListVariable
  | NewList
  | Renumbered;

/** Known elements, where another way has an array whose length only the program knows. */
export interface NewList {
  readonly kind: 'newList';
  readonly elements: readonly Variable[];
  readonly like: ListVariable;
}

/** A place in a structure whose value depends on the way that was taken. */
export interface Leaf {
  readonly kind: 'tensor' | 'number' | 'boolean' | 'list';
  /** Per way; null where nobody can read it. */
  readonly values: readonly (LeafVariable | null)[];
}

/** A structure with its leaves taken out; `build` puts the joined ones in. */
export interface Unified {
  readonly leaves: readonly Leaf[];
  /** How many choices there are in it. */
  readonly choices: number;
  build(joined: readonly Variable[]): Variable;
}

/** The ways differ by more than one program can hold. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';
}

/** Per way, the value that it leaves; null where nobody reads it. */
export type Values = readonly (Variable | null)[];

/** What a loop leaves: arrays of several lengths become lists. Throws Mismatch. */
export function unify(
  t: Tracer,
  ways: Values,
  isOld: (variable: Variable) => boolean,
  tell: (how: string) => string,
  given: ReadonlySet<Tensor> = none,
): Unified {
  const unifier = new Unifier(t, isOld, given, true);
  const build = unifier.add(ways, tell);
  const { leaves, choices } = unifier;
  return { leaves, choices, build: (joined) => build(joined, new Map()) };
}

/** `made`: what this building has made so far, by the structures it is made of. */
export type Build = (joined: readonly Variable[], made: Map<Build, Variable>) => Variable;

/**
 * Unifies what several places hold. What existed before the ways parted is told apart by identity; what
 * they made is made once more, as often as each of them made it.
 */
export class Unifier {
  readonly leaves: Leaf[] = [];
  choices = 0;
  readonly #t: Tracer;
  readonly #isOld: (variable: Variable) => boolean;
  readonly #given: ReadonlySet<Tensor>;
  /** Structures by what each way gives for them. */
  readonly #builds = new Map<string, Build>();
  /** What the other ways give for a structure that one of them made. */
  readonly #partners = new Map<Variable, string>();
  /** Leaves that say which option was chosen, by what each way chooses. */
  readonly #selectors = new Map<string, (joined: readonly Variable[]) => Selector>();

  #tell: (how: string) => string = (how) => how;

  /** Arrays of several lengths become lists, whatever they held before. */
  readonly #grows: boolean;

  /** `given`: values that are leaves even where all ways leave the same one. */
  constructor(
    t: Tracer,
    isOld: (variable: Variable) => boolean,
    given: ReadonlySet<Tensor> = none,
    grows = false,
  ) {
    this.#grows = grows;
    this.#t = t;
    this.#isOld = isOld;
    this.#given = given;
  }

  /** `tell`: how to say what a choice is between. */
  add(ways: Values, tell: (how: string) => string): Build {
    this.#tell = tell;
    return this.#add(ways);
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
    const lists = this.#asLists(present);
    if (lists) return this.#addLists(ways, lists);
    const classes = new Set(present.flatMap((way) => optionsOf(way).map(this.#classOf)));
    if (classes.size > 1 || present.some((way) => way.kind === 'choice')) {
      return this.#addChoice(ways, [...classes]);
    }
    const kind = leafKind(t, first);
    if (!kind) return this.#addStructure(ways, first);
    const index = this.leaves.push({ kind, values: ways as Leaf['values'] }) - 1;
    return (joined) => joined[index]!;
  }

  /** Some value in it is one of those that are given. */
  #isGiven(variable: Variable, above: ReadonlySet<Variable> = new Set()): boolean {
    if (this.#given.size === 0 || above.has(variable)) return false;
    if (variable.kind === 'tensor')
      return variable.traced !== null && this.#given.has(variable.traced);
    if (variable.kind === 'scalar' || variable.kind === 'list') {
      return this.#given.has(variable.tensor);
    }
    const within = new Set([...above, variable]);
    const parts = variable.kind === 'choice' ? [variable.selector.which] : [];
    return [...parts, ...partsOf(variable)].some((part) => part && this.#isGiven(part, within));
  }

  /** Arrays of several lengths that are to be lists: what their elements are like. */
  #asLists(present: readonly Variable[]): ListVariable | null {
    const arrays = present.filter((way) => way.kind === 'newArray' && !way.isArguments);
    if (arrays.length < present.length || arrays.some(this.#isOld)) return null;
    if (arrays.every(isGrown)) return null;
    const grown = arrays.find(isGrown);
    if (grown) return grown.grown.items;
    const known_ = arrays as NewArrayVariable[];
    const [first] = known_;
    if (
      !this.#grows ||
      !this.#t.control.listsGrow ||
      known_.every((way) => way.elements.length === first!.elements.length)
    ) {
      return null;
    }
    const sample = known_.flatMap(({ elements }) => elements)[0]!;
    if (!listable(sample)) return null;
    this.#t.control.plans.usesLists = true;
    return emptyList(this.#t, sample);
  }

  #addLists(ways: Values, like: ListVariable): Build {
    const arrays = ways as readonly (NewArrayVariable | null)[];
    const items = arrays.map((array) => {
      if (!array) return null;
      return array.grown?.items ?? { kind: 'newList' as const, elements: array.elements, like };
    });
    const lengths = arrays.map((array) => {
      return array && (array.grown?.length ?? known(array.elements.length));
    });
    const index = this.leaves.push({ kind: 'list', values: items }) - 1;
    const length = this.leaves.push({ kind: 'number', values: lengths }) - 1;
    const build: Build = (joined, made) => {
      const existing = made.get(build);
      if (existing) return existing;
      const array = grownArray(joined[index] as ListVariable, joined[length] as ScalarVariable);
      made.set(build, array);
      return array;
    };
    return build;
  }

  /** What a way computed or made belongs to it, and must be handed out. */
  #isMadeOnWay(variable: Variable): boolean {
    switch (variable.kind) {
      case 'scalar':
      case 'choice':
      case 'list':
        return true;
      case 'tensor':
        return variable.source === null;
      case 'joined':
        return true;
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

  readonly #classOf = (variable: Variable): string => classOf(this.#t, variable, this.#isOld);

  /** Each class of values is an option; of each way, the one that it leaves. */
  #addChoice(ways: Values, classes: readonly string[]): Build {
    const how = describeWays(this.#t, ways);
    const from = this.#tell(how);
    if (this.#t.control.policy !== 'always') throw new Mismatch(how);
    this.choices++;
    const numbers = ways.map((way) => {
      if (!way) return null;
      const numbers = optionsOf(way).map((option) => classes.indexOf(this.#classOf(option)));
      if (new Set(numbers).size < numbers.length) {
        throw new Mismatch(`${how}, of which two are one on another way`);
      }
      return numbers;
    });
    const options = classes.map((_, number) =>
      this.#add(
        ways.map((way, i) => {
          const at = numbers[i]?.indexOf(number) ?? -1;
          return way && at >= 0 ? optionsOf(way)[at]! : null;
        }),
      ),
    );
    const selector = this.#selector(ways, numbers);
    const build: Build = (joined, made): ChoiceVariable => ({
      kind: 'choice',
      selector: selector(joined),
      options: options.map((option) => option(joined, made)),
      from,
    });
    return build;
  }

  #selector(
    ways: Values,
    numbers: readonly (readonly number[] | null)[],
  ): (joined: readonly Variable[]) => Selector {
    const key = ways
      .map((way, i) => {
        const whose = way?.kind === 'choice' ? idOf(way.selector) : '';
        return `${whose} ${numbers[i]?.join() ?? '-'}`;
      })
      .join(';');
    const existing = this.#selectors.get(key);
    if (existing) return existing;
    const values = ways.map((way, i): LeafVariable | null => {
      const to = numbers[i];
      if (!way || !to) return null;
      if (way.kind !== 'choice') return known(to[0]!);
      const { which } = way.selector;
      if (to.every((number, option) => number === option)) return which;
      return { kind: 'renumbered', which: which.tensor, to };
    });
    const index = this.leaves.push({ kind: 'number', values }) - 1;
    let made: { readonly which: Variable; readonly selector: Selector } | null = null;
    // Places that were chosen together are known together.
    const build = (joined: readonly Variable[]): Selector => {
      const which = joined[index] as ScalarVariable;
      if (made?.which !== which) made = { which, selector: { which, chosen: null } };
      return made.selector;
    };
    this.#selectors.set(key, build);
    return build;
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
    make = this.#maker(ways, first, build);
    return build;
  }

  #maker(ways: Values, first: Variable, build: Build): Build {
    const part = <K extends Variable['kind']>(
      _kind: K,
      pick: (way: Extract<Variable, { kind: K }>) => Variable | undefined,
    ): Build =>
      this.#add(ways.map((way) => way && (pick(way as Extract<Variable, { kind: K }>) ?? absent)));
    switch (first.kind) {
      case 'newArray': {
        if (first.grown) {
          const items = part('newArray', (way) => way.grown?.items);
          const length = part('newArray', (way) => way.grown?.length);
          return (joined, made) => {
            const content = [items(joined, made), length(joined, made)] as const;
            const array = grownArray(content[0] as ListVariable, content[1] as ScalarVariable);
            made.set(build, array);
            return array;
          };
        }
        const parts = first.elements.map((_, i) => part('newArray', (way) => way.elements[i]));
        return (joined, made) => {
          const array = { ...first, elements: [] as Variable[] };
          made.set(build, array);
          for (const each of parts) array.elements.push(each(joined, made));
          return array;
        };
      }
      case 'newObject': {
        const parts = [...first.entries.keys()].map(
          (key) => [key, part('newObject', (way) => way.entries.get(key))] as const,
        );
        return (joined, made) => {
          const object = { ...first, entries: new Map<string, Variable>() };
          made.set(build, object);
          for (const [key, each] of parts) object.entries.set(key, each(joined, made));
          return object;
        };
      }
      case 'newCollection': {
        const parts = [...first.entries].map(([id, { key }]) => {
          const value = part('newCollection', (way) => way.entries.get(id)?.value);
          return { id, key, value };
        });
        return (joined, made) => {
          const collection: typeof first = { ...first, entries: new Map() };
          made.set(build, collection);
          for (const { id, key, value } of parts) {
            collection.entries.set(id, { key, value: value(joined, made) });
          }
          return collection;
        };
      }
      case 'joined': {
        const list = part('joined', (way) => way.list);
        return (joined, made) => {
          const again = { ...first, list: list(joined, made) as ListVariable };
          made.set(build, again);
          return again;
        };
      }
      case 'cell': {
        const content = part('cell', (way) => way.content);
        return (joined, made) => {
          const cell = { ...first, content: uninitializedVariable as Variable };
          made.set(build, cell);
          cell.content = content(joined, made);
          return cell;
        };
      }
      case 'closure': {
        const thisVariable = part('closure', (way) => way.thisVariable);
        const cells = first.cells.map((_, i) => part('closure', (way) => way.cells[i]));
        return (joined, made) => {
          const closure = {
            ...first,
            thisVariable: thisVariable(joined, made),
            cells: cells.map((cell) => cell(joined, made)) as typeof first.cells,
          };
          made.set(build, closure);
          return closure;
        };
      }
      default:
        throw new Mismatch(describeWays(this.#t, ways));
    }
  }
}

const none: ReadonlySet<Tensor> = new Set();

function leafKind(t: Tracer, variable: Variable): Leaf['kind'] | undefined {
  if (variable.kind === 'tensor' || variable.kind === 'list') return variable.kind;
  if (variable.kind === 'scalar') return variable.type;
  if (variable.kind !== 'constant' && variable.kind !== 'symbolic') return undefined;
  const type = typeof (variable.kind === 'constant' ? constantOf(t, variable) : variable.value);
  return type === 'number' || type === 'boolean' ? type : undefined;
}
