import type { Tensor } from '../../../../runtime/tensor/tensor.ts';
import type { OuterTensors } from '../../inputs/outer-tensors.ts';
import { asCounter, type Counter, countedBy, isSameCounter } from '../../inputs/row-index.ts';
import { RowWatch } from '../../inputs/row-watch.ts';
import { isAlike, tensorsIn } from '../../state/tape.ts';
import type { Tracer } from '../../state/tracer.ts';
import {
  known,
  type NewArrayVariable,
  type ObjectVariable,
  type SymbolicVariable,
  type Variable,
} from '../../variables/variable.ts';
import type { Iteration } from './repeated-rows.ts';
import { differently, elementAt, guardBare, type Rows, rowsAmong, rowsOf } from './row-elements.ts';
import { appendableArrays, type RowLocation } from './row-locations.ts';
import type { RowLoop } from './row-loops.ts';
import { type RowOrder, recordedIndex, rowsInOrder } from './row-order.ts';

/** The changes that an iteration makes, apart from computing tensors. */
interface Probe {
  /** The elements that the loop visits. */
  readonly order: RowOrder;
  /** Locations that count iterations, by index. */
  readonly counters: ReadonlyMap<number, Counter>;
  /** The arrays to which iterations may append. */
  readonly appendable: readonly NewArrayVariable[];
  /** The arrays to which it does append. */
  readonly pushed: readonly NewArrayVariable[];
  /** Other arrays from which it reads the element at the loop's index. */
  readonly others: readonly ObjectVariable[];
}

class Probed extends Error {
  readonly probe: Probe;
  constructor(probe: Probe) {
    super();
    this.probe = probe;
  }
}

/** Traces the first iteration with plain numbers, then rolls everything back. */
export function probeRow(t: Tracer, loop: RowLoop, locations: readonly RowLocation[]): Probe {
  try {
    return t.tentatively(() => {
      throw new Probed(probe(t, loop, locations));
    });
  } catch (error) {
    if (error instanceof Probed) return error.probe;
    throw error;
  }
}

function probe(t: Tracer, loop: RowLoop, locations: readonly RowLocation[]): Probe {
  const before = locations.map((each) => each.read());
  const arrays = appendableArrays(t).map((array) => ({ array, elements: [...array.elements] }));
  const others = new Map<object, ObjectVariable>();
  const { first } = loop;
  const begin = first.start + (loop.first.from ? loop.rows.columns[0]!.recorded.length : 0);
  const elements = new Map([[loop.rows.outer.value, elementAt(t, loop.rows, begin)]]);
  const element = (array: Variable, key: Variable) => {
    if (!isSameCounter(counterIn(key, first.from), first)) return undefined;
    if (rowsAmong([loop.rows], array)) return elements.get(loop.rows.outer.value);
    if (array.kind !== 'object') return undefined;
    const known = elements.get(array.value);
    if (known) return known;
    t.rows = null;
    const rows = rowsOf(t, array);
    t.rows = watch;
    if (!rows) return undefined;
    others.set(array.value, array);
    elements.set(array.value, elementAt(t, rows, begin));
    return elements.get(array.value);
  };
  const watch = new RowWatch([], null, { pushed: new Map(), element });
  t.rows = watch;
  try {
    loop.trace(() => elements.get(loop.rows.outer.value)!, known(first.start));
  } finally {
    t.rows = null;
  }
  const counters = new Map<number, Counter>();
  for (const [i, location] of locations.entries()) {
    const each = counterIn(before[i]!, first.from);
    const next = counterIn(location.read(), first.from);
    if (each && next) counters.set(i, between(each, next));
    if (counters.get(i)?.step === 0) counters.delete(i);
  }
  const order = { index: indexOf(loop), spared: Math.max(-loop.end, 0) };
  const pushed = arrays.flatMap(({ array, elements }) =>
    array.elements.length > elements.length ? [array] : [],
  );
  const appendable = arrays.map(({ array }) => array);
  return { order, counters, appendable, pushed, others: [...others.values()] };
}

/** Returns the counter of a number before the first iteration: a constant, or counted from a length. */
function counterIn(variable: Variable, length: SymbolicVariable | null): Counter | undefined {
  if (variable.kind === 'symbolic') {
    const counter = length && asCounter(variable.expr, length);
    return counter?.from && counter.step === 0 ? counter : undefined;
  }
  if (variable.kind !== 'constant' || variable.source) return undefined;
  if (!Number.isSafeInteger(variable.value)) return undefined;
  return { start: variable.value as number, step: 0, from: null };
}

/** Returns the counter that has these two consecutive values. */
function between(first: Counter, next: Counter): Counter {
  if (first.from !== next.from) throw differently('counts in another way');
  return { ...first, step: next.start - first.start };
}

/** Returns the loop's index after its first iteration. */
function indexOf({ first, next }: RowLoop): Counter {
  const expr = next();
  if (!expr) return { ...first, step: 1 };
  const second = asCounter(expr, first.from);
  const index = second?.step === 0 ? between(first, second) : undefined;
  if (!index || (first.from ? index.step >= 0 : index.step <= 0)) {
    throw differently('counts otherwise');
  }
  return index;
}

interface ProbeContext extends Omit<Probe, 'others'> {
  /** The array of the loop, and other arrays whose element at the same index is read. */
  readonly all: readonly Rows[];
  readonly locations: readonly RowLocation[];
}

/** The maximum number of first iterations that may differ from the later ones. */
const maxIterations = 4;

/** Thrown if an iteration appends to an array to which earlier iterations didn't append. */
export class AppendsTo extends Error {
  readonly array: NewArrayVariable;
  constructor(array: NewArrayVariable) {
    super();
    this.array = array;
  }
}

/** The iterations at the start of a loop. */
export class RowIterations {
  readonly iterations: Iteration[] = [];
  readonly #t: Tracer;
  readonly #loop: RowLoop;
  readonly #around: ProbeContext;
  /** The contents of the locations before each iteration, and after the last one. */
  readonly #contents: (readonly Variable[])[];
  /** The tensors computed by iterations. */
  readonly #computed = new Set<Tensor>();
  /** Whether the last iteration decides like all later ones. */
  #lastDecides = true;
  /** The tensors of the visited elements, which also differ between iterations. */
  readonly #elements = new Set<Tensor>();

  constructor(t: Tracer, loop: RowLoop, around: ProbeContext) {
    this.#t = t;
    this.#loop = loop;
    this.#around = around;
    this.#contents = [around.locations.map((each) => each.read())];
  }

  /** The arrays to which the iterations append. */
  get pushed(): readonly NewArrayVariable[] {
    return this.#around.pushed;
  }

  /** Traces iterations until the next one would repeat the last one. */
  settle(): void {
    const { order } = this.#around;
    const [{ recorded }] = this.#loop.rows.columns as [OuterTensors];
    const { length } = rowsInOrder([recorded], order);
    do {
      if (this.iterations.length === Math.min(length, maxIterations)) {
        throw differently('leaves something other than a tensor that it computes');
      }
      this.#trace();
    } while (!this.#lastDecides || !this.#isSettled());
  }

  /** Replaces the results of the traced iterations by those of all iterations. */
  leave(carried: readonly (Tensor | null)[]): void {
    for (const [i, tensor] of carried.entries()) {
      if (tensor) this.#around.locations[i]!.write(this.#t.result(tensor));
    }
  }

  #trace(): void {
    const { all, order, locations, counters, pushed } = this.#around;
    const { length: count } = this.#loop.rows.columns[0]!.recorded;
    const iteration = this.iterations.length;
    const index = recordedIndex(order, iteration, count);
    for (const [i, counter] of counters) locations[i]!.write(countedBy(counter, iteration));
    const row = all.flatMap(({ columns }) => columns.map(({ recorded }) => recorded[index]!));
    const { from } = order.index;
    const carried = this.#carried();
    const values = new Map(pushed.map((array) => [array, [] as Variable[]]));
    const elements = new Map<Rows, Variable>();
    const elementOf = (rows: Rows) => {
      const element = elements.get(rows) ?? elementAt(this.#t, rows, index);
      elements.set(rows, element);
      return element;
    };
    const element = (array: Variable, key: Variable) => {
      const rows = rowsAmong(all, array);
      if (!rows || key.kind !== 'symbolic') return undefined;
      return isSameCounter(asCounter(key.expr, from), order.index) ? elementOf(rows) : undefined;
    };
    const watch = new RowWatch(row, iteration, { pushed: values, element });
    watch.add(
      carried.filter((tensor) => tensor !== null && this.#elements.has(tensor)) as Tensor[],
    );
    const calls = this.#alone(watch, () => {
      this.#loop.trace(() => elementOf(all[0]!), countedBy(order.index, iteration));
    });
    this.#lastDecides = watch.isSettled;
    const next = this.#loop.next();
    if (next && !isSameCounter(asCounter(next, from), after(order.index))) {
      throw differently('counts otherwise');
    }
    this.#note(calls, row);
    for (const [i, counter] of counters) {
      const now = locations[i]!.read();
      const found = now.kind === 'symbolic' ? asCounter(now.expr, from) : undefined;
      if (!isSameCounter(found, after(counter))) throw differently('counts in another way');
    }
    this.#contents.push(locations.map((each) => each.read()));
    const left = this.#carried();
    const appended = pushed.map((array) => values.get(array)!.map((value) => this.#pushed(value)));
    this.iterations.push({ row, carried, calls, left, pushed: appended });
  }

  #pushed(value: Variable): Tensor {
    if (value.kind !== 'tensor') throw differently('appends something other than tensors');
    return this.#t.use(value);
  }

  /** Traces an iteration that may change only variables, and returns its calls. */
  #alone(watch: RowWatch, body: () => void) {
    const t = this.#t;
    const { builder } = t;
    const { tape } = t.surroundings;
    const [mark, opCount] = [tape.length, builder.opCount];
    const state = () => [t.sizes.reads.length, t.random.count, t.random.reseeded, t.sizes.fixed];
    const before = state();
    const cells = this.#around.locations.flatMap(({ cell }) => cell ?? []);
    const arrays = this.#around.appendable
      .filter((array) => !this.pushed.includes(array))
      .map((array) => ({ array, count: array.elements.length }));
    t.rows = watch;
    try {
      const isPure = t.journal.preservesObjects(body, cells);
      const longer = isPure || arrays.find(({ array, count }) => array.elements.length > count);
      if (typeof longer === 'object') throw new AppendsTo(longer.array);
      const isRepeatable = state().every((each, i) => each === before[i]);
      if (
        !isPure ||
        !isRepeatable ||
        builder.some(({ regions }) => regions !== undefined, opCount)
      ) {
        throw differently('does more than compute tensors');
      }
    } finally {
      t.rows = null;
    }
    for (const key of watch.members) {
      for (const { columns } of this.#around.all) guardBare(t, columns[0]!, key);
    }
    return tape.splice(mark);
  }

  /** Records the tensors of an iteration: its element's tensors and the ones that it computed. */
  #note(calls: Iteration['calls'], row: readonly Tensor[]): void {
    const before = new Set(row);
    for (const tensor of row) this.#elements.add(tensor);
    for (const { operands, result } of calls) {
      for (const tensor of tensorsIn(operands)) before.add(tensor);
      for (const tensor of tensorsIn(result)) if (!before.has(tensor)) this.#computed.add(tensor);
    }
  }

  /** Returns the tensor that iterations computed in each location. */
  #carried(): (Tensor | null)[] {
    const { counters } = this.#around;
    return this.#contents.at(-1)!.map((variable, i) => {
      const tensor = variable.kind === 'tensor' && !counters.has(i) ? variable.traced : null;
      const isOfLoop = tensor && (this.#computed.has(tensor) || this.#elements.has(tensor));
      return isOfLoop ? tensor : null;
    });
  }

  /** Returns whether every location contains a result of the iterations, or its final value. */
  #isSettled(): boolean {
    const [first, ...later] = this.#contents;
    const [before, after] = this.#contents.slice(-2) as [readonly Variable[], readonly Variable[]];
    return first!.every((variable, i) => {
      if (this.#around.counters.has(i)) return true;
      if (later.every((content) => isSame(content[i]!, variable))) return true;
      const [earlier, last] = [this.#computedIn(before[i]!), this.#computedIn(after[i]!)];
      if (earlier && last) return isAlike(earlier, last);
      return isConstant(before[i]!) && isSame(before[i]!, after[i]!);
    });
  }

  #computedIn(variable: Variable): Tensor | undefined {
    const tensor = variable.kind === 'tensor' ? variable.traced : null;
    return tensor && this.#computed.has(tensor) ? tensor : undefined;
  }
}

/** Returns the counter advanced by one iteration. */
function after(counter: Counter): Counter {
  return { ...counter, start: counter.start + counter.step };
}

function isConstant({ kind }: Variable): boolean {
  return kind === 'constant';
}

function isSame(a: Variable, b: Variable): boolean {
  if (a === b) return true;
  if (a.kind === 'tensor' && b.kind === 'tensor') return a.traced !== null && a.traced === b.traced;
  if (a.kind !== 'constant' || b.kind !== 'constant') return false;
  return a.source === null && b.source === null && Object.is(a.value, b.value);
}
