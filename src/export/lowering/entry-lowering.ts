import { numberLeaves } from '../../../runtime/entry/number-expr.ts';
import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { SavedMake, SavedNumber, SavedRecipe } from '../../../runtime/save/recipe.ts';
import type { SavedSource } from '../../../runtime/save/saved-source.ts';
import { type Engine, elementOf, type TargetValue } from '../target/target.ts';
import {
  type ExportState,
  nameOfSource,
  noProgram,
  type PortableProgram,
} from './portable-program.ts';
import { ProgramLowering } from './program-lowering.ts';
import { ScalarEmitter, scalarCall } from './scalars.ts';
import { Slot } from './slots.ts';

/** One input of the whole program. */
export interface LoweredInput<V> {
  readonly name: string;
  readonly kind: 'argument' | 'state' | 'random';
  readonly value: V;
  /** The state's value when the program was saved. */
  readonly held: ExportState['value'];
}

/** One result of the whole program. */
export interface LoweredResult<V> {
  readonly name: string;
  readonly value: V;
  /** The index of the input that receives it in the next call; null for a result of the function. */
  readonly feeds: number | null;
}

export interface LoweredEntry<V> {
  readonly inputs: readonly LoweredInput<V>[];
  readonly results: readonly LoweredResult<V>[];
  /** The number of user checks (`if (bad) throw …`) that the exported program omits. */
  readonly unchecked: number;
}

/**
 * Lowers the program as one function, with its state as inputs and results. Throws ArgumentError if it has no result:
 * engines reject a model without outputs.
 */
export function lowerEntry<V extends TargetValue>(
  portable: PortableProgram,
  engine: Engine<V>,
): LoweredEntry<V> {
  const lowered = new EntryLowering(portable, engine).run();
  if (lowered.results.length > 0) return lowered;
  throw noProgram('a program that returns only its arguments', 'one that computes a result');
}

class EntryLowering<V extends TargetValue> {
  readonly #portable: PortableProgram;
  readonly #engine: Engine<V>;
  readonly #inputs: LoweredInput<V>[] = [];
  readonly #results: { readonly name: string; readonly value: V }[] = [];

  constructor(portable: PortableProgram, engine: Engine<V>) {
    this.#portable = portable;
    this.#engine = engine;
  }

  run(): LoweredEntry<V> {
    const { program, entry, scalars } = this.#portable;
    const engine = this.#engine;
    const slots = entry.inputs.map(({ place }, i): Slot<V> | null => {
      const id = program.inputs[i]!;
      if (this.#isUnread(place)) return null;
      const element = elementOf[program.values[id]!.dtype];
      return Slot.of(engine, this.#input(place, element, engine.shapeOf(program, id)));
    });
    const numbers = entry.numbers.map((source) => this.#number(source));
    // Numbers that only effects read are arguments, too.
    for (const effect of entry.effects) {
      if (effect.kind === 'set') this.#prepare(effect.value);
    }
    const isRandom = entry.randomNumbers > 0 || entry.effects.some(({ kind }) => kind === 'draw');
    if (isRandom) this.#number({ kind: 'random', field: 'offset' });
    const scalarEmitter = new ScalarEmitter(engine, scalars, numbers);
    scalarEmitter.emitAll();
    const lowering = new ProgramLowering(engine, scalarEmitter, this.#portable.backwardParts);
    const outputs = lowering.run(program, slots);
    this.#add(entry.result, 'result', outputs);
    this.#effects(outputs);
    entry.inputs.forEach(({ place }, i) => {
      const slot = slots[i];
      if (slot?.isWritten) this.#result(this.#name(place), slot.read());
    });
    const results = this.#results.map((each) => ({ ...each, feeds: this.#fedBy(each.name) }));
    return { inputs: this.#inputs, results, unchecked: lowering.unchecked };
  }

  /** Whether it is a gradient that the step clears without reading it. */
  #isUnread(source: SavedSource): boolean {
    if (source.kind !== 'state') return false;
    const { isGradient, value } = this.#portable.state[source.index]!;
    return isGradient && value === null;
  }

  #fedBy(name: string): number | null {
    const at = this.#inputs.findIndex((input) => input.name === name && input.kind !== 'argument');
    return at < 0 ? null : at;
  }

  #name(source: SavedSource): string {
    return nameOfSource(source, this.#portable.state);
  }

  #input(source: SavedSource, element: V['element'], shape: V['shape']): V {
    const name = this.#name(source);
    const kind = source.kind === 'state' || source.kind === 'random' ? source.kind : 'argument';
    const held = source.kind === 'state' ? this.#portable.state[source.index]!.value : null;
    const value = this.#engine.argument(this.#inputs.length, name, element, shape);
    this.#inputs.push({ name, kind, value, held });
    return value;
  }

  #number(source: SavedSource): V {
    const known = this.#inputs.find(({ name }) => name === this.#name(source));
    return known ? known.value : this.#input(source, 'f64', []);
  }

  #prepare(recipe: SavedRecipe): void {
    if (recipe.kind !== 'number') return;
    for (const { source } of numberLeaves(recipe.expr)) this.#number(source);
  }

  #result(name: string, value: V): void {
    const known = this.#results.findIndex((each) => each.name === name);
    if (known < 0) this.#results.push({ name, value });
    else this.#results[known] = { name, value };
  }

  /** Adds the function's results: tensors and numbers in arrays and objects, by path. */
  #add(recipe: SavedRecipe | null, name: string, outputs: readonly V[]): void {
    if (!recipe) return;
    switch (recipe.kind) {
      case 'output':
      case 'scalar':
        this.#result(name, outputs[recipe.index]!);
        return;
      case 'number':
        this.#result(name, this.#numberValue(recipe.expr));
        return;
      case 'made':
        this.#addMade(this.#portable.entry.makes[recipe.index]!, name, outputs);
        return;
      case 'choice': {
        const value = this.#chosen(recipe, outputs);
        if (!value) throw notExportable(`a branch that decides what ${name} is`);
        this.#result(name, value);
        return;
      }
      default:
        // Constants and the arguments themselves are known without a run.
        return;
    }
  }

  /** Returns the value chosen by branches; null unless all options are tensors of the same type, or numbers. */
  #chosen(
    { which, options }: Extract<SavedRecipe, { kind: 'choice' }>,
    outputs: readonly V[],
  ): V | null {
    const engine = this.#engine;
    const number = this.#valueOf(which, outputs);
    const values = options.map((option) => this.#valueOf(option, outputs));
    const typeOf = (value: V | null | undefined) =>
      value && `${value.element} ${value.shape.join()}`;
    if (!number || values.some((value) => !value || typeOf(value) !== typeOf(values[0])))
      return null;
    const chosen = engine.convert(number, 'f64');
    return (values as V[]).reduce((value, option, i) => {
      if (option.id === value.id) return value;
      const isThis = engine.compare('EQ', chosen, engine.constant(i, 'f64'));
      return engine.select(isThis, option, value);
    });
  }

  #valueOf(recipe: SavedRecipe, outputs: readonly V[]): V | null {
    if (recipe.kind === 'output' || recipe.kind === 'scalar') return outputs[recipe.index]!;
    if (recipe.kind === 'number') return this.#numberValue(recipe.expr);
    if (recipe.kind === 'choice') return this.#chosen(recipe, outputs);
    if (recipe.kind !== 'constant' || typeof recipe.value !== 'number') return null;
    return this.#engine.constant(recipe.value, 'f64');
  }

  #addMade(make: SavedMake, name: string, outputs: readonly V[]): void {
    if (make.kind === 'array') {
      make.elements.forEach((item, i) => {
        this.#add(item, `${name}.${i}`, outputs);
      });
    } else if (make.kind === 'object') {
      for (const [key, item] of make.entries) this.#add(item, `${name}.${key}`, outputs);
    } else {
      const kind = make.kind === 'list' ? 'list' : make.type;
      throw notExportable(`a ${kind} in the result`);
    }
  }

  #effects(outputs: readonly V[]): void {
    const { entry } = this.#portable;
    let drawn: V | null = null;
    for (const effect of entry.effects) {
      if (effect.kind === 'set') this.#set(this.#name(effect.place), effect.value, outputs);
      else if (effect.kind === 'fill') throw notExportable('an array that the function changes');
      else if (effect.kind === 'draw') {
        const count = this.#valueOf(effect.count, outputs);
        if (!count) throw notExportable('a count of random numbers that is not a number');
        drawn = this.#engine.convert(count, 'f64');
      }
    }
    if (entry.randomNumbers > 0) drawn = this.#engine.randomCount(entry.randomNumbers);
    if (!drawn) return;
    const offset = this.#number({ kind: 'random', field: 'offset' });
    this.#result('random.offset', this.#engine.binary('add', offset, drawn));
  }

  #set(name: string, recipe: SavedRecipe, outputs: readonly V[]): void {
    const isFed = this.#fedBy(name) !== null;
    if (recipe.kind === 'constant') {
      const { value } = recipe;
      if (isFed && typeof value === 'number')
        this.#result(name, this.#engine.constant(value, 'f64'));
      return;
    }
    // A gradient that may be null and is not an input is useless to the caller.
    if (recipe.kind === 'choice' && !isFed && !this.#chosen(recipe, outputs)) return;
    this.#add(recipe, name, outputs);
  }

  #numberValue(number: SavedNumber): V {
    switch (number.kind) {
      case 'constant':
        return this.#engine.constant(number.value, 'f64');
      case 'source':
        return this.#number(number.source);
      case 'apply':
        return scalarCall(
          this.#engine,
          number.fn,
          number.args.map((arg) => this.#numberValue(arg)),
        );
    }
  }
}

function notExportable(given: string): ArgumentError {
  return new ArgumentError({
    what: 'export: the function changes or returns what another engine cannot',
    given,
    expected: 'tensors and numbers, returned or kept in the state',
    remedy: 'return tensors, in arrays or plain objects',
  });
}
