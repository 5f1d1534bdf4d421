import { ArgumentError } from '../../../runtime/errors/errors.ts';
import type { Place } from '../../../runtime/save/place.ts';
import type { SavedMake, SavedNumber, SavedRecipe } from '../../../runtime/save/recipe.ts';
import { nameOfPlace, type PortableProgram } from '../portable-program.ts';
import { Emitter, specOf, typeOf, type Value } from './emitter.ts';
import { ProgramEmitter } from './program-emitter.ts';
import { ScalarEmitter, scalarCall } from './scalars.ts';
import { Slot } from './slots.ts';

/** One argument of `@main`. */
export interface ExportedInput {
  readonly name: string;
  readonly kind: 'argument' | 'state' | 'random';
  /** Element type and shape of StableHLO. */
  readonly type: string;
  readonly shape: readonly number[];
  /** The value of a number in the state when the program was saved; tensors are in the safetensors file. */
  readonly value: number | null;
  /** A hint for sharding: the mesh axis of the first dimension, of batches; null: replicated. */
  readonly shard: 'data' | null;
}

/** One result of `@main`. */
export interface ExportedOutput {
  readonly name: string;
  readonly type: string;
  readonly shape: readonly number[];
  /** Number of the input that takes it in the next call; null for what the function returns. */
  readonly feeds: number | null;
}

export interface ExportedProgram {
  /** A module of StableHLO in MLIR's text form. */
  readonly text: string;
  readonly inputs: readonly ExportedInput[];
  readonly outputs: readonly ExportedOutput[];
  /** Checks of the user (`if (bad) throw …`) that the exported program doesn't make. */
  readonly unchecked: number;
}

interface Result {
  readonly name: string;
  readonly value: Value;
}

/** The program as one function of StableHLO whose state goes in and comes out. */
export function exportProgram(portable: PortableProgram): ExportedProgram {
  return new Exporter(portable).run();
}

class Exporter {
  readonly #portable: PortableProgram;
  readonly #to = new Emitter();
  readonly #inputs: ExportedInput[] = [];
  readonly #arguments: Value[] = [];
  readonly #results: Result[] = [];

  constructor(portable: PortableProgram) {
    this.#portable = portable;
  }

  run(): ExportedProgram {
    const { program, entry, scalars } = this.#portable;
    const to = this.#to;
    const slots = entry.inputs.map(({ place }, i) => {
      const meta = program.values[program.inputs[i]!]!;
      return Slot.of(this.#input(place, specOf(meta)));
    });
    const numbers = entry.numbers.map((place) => this.#number(place));
    // Numbers that only effects read are arguments, too.
    for (const effect of entry.effects) {
      if (effect.kind === 'set') this.#prepare(effect.value);
    }
    const isRandom = entry.randomNumbers > 0 || entry.effects.some(({ kind }) => kind === 'draw');
    if (isRandom) this.#number({ kind: 'random', field: 'offset' });
    const scalarEmitter = new ScalarEmitter(to, scalars, numbers);
    scalarEmitter.emitAll();
    const emitter = new ProgramEmitter(to, scalarEmitter);
    const outputs = emitter.run(program, slots);
    this.#add(entry.result, 'result', outputs);
    this.#effects(outputs);
    entry.inputs.forEach(({ place }, i) => {
      if (slots[i]!.isWritten) this.#result(this.#name(place), slots[i]!.read());
    });
    return {
      text: this.#text(),
      inputs: this.#inputs,
      outputs: this.#results.map(({ name, value }) => ({
        name,
        type: value.element,
        shape: value.shape,
        feeds: this.#fedBy(name),
      })),
      unchecked: emitter.unchecked,
    };
  }

  #fedBy(name: string): number | null {
    const at = this.#inputs.findIndex((input) => input.name === name && input.kind !== 'argument');
    return at < 0 ? null : at;
  }

  #name(place: Place): string {
    return nameOfPlace(place, this.#portable.state);
  }

  #input(place: Place, spec: Pick<Value, 'element' | 'shape'>): Value {
    const name = this.#name(place);
    const kind = place.kind === 'state' || place.kind === 'random' ? place.kind : 'argument';
    const held = place.kind === 'state' ? this.#portable.state[place.index]!.value : null;
    const value = typeof held === 'number' || typeof held === 'boolean' ? Number(held) : null;
    const shard = kind === 'argument' && spec.shape.length > 0 ? 'data' : null;
    const own = { id: `%arg${this.#inputs.length}`, ...spec };
    this.#inputs.push({ name, kind, type: spec.element, shape: spec.shape, value, shard });
    this.#arguments.push(own);
    return own;
  }

  #number(place: Place): Value {
    const at = this.#inputs.findIndex(({ name }) => name === this.#name(place));
    return at >= 0 ? this.#arguments[at]! : this.#input(place, { element: 'f64', shape: [] });
  }

  #prepare(recipe: SavedRecipe): void {
    if (recipe.kind === 'number') this.#prepareNumber(recipe.number);
  }

  #prepareNumber(number: SavedNumber): void {
    if (number.kind === 'place') this.#number(number.place);
    else if (number.kind === 'apply') {
      for (const arg of number.args) this.#prepareNumber(arg);
    }
  }

  #result(name: string, value: Value): void {
    const known = this.#results.findIndex((each) => each.name === name);
    if (known < 0) this.#results.push({ name, value });
    else this.#results[known] = { name, value };
  }

  /** What the function returns: tensors and numbers in arrays and objects, by their path. */
  #add(recipe: SavedRecipe | null, name: string, outputs: readonly Value[]): void {
    if (!recipe) return;
    switch (recipe.kind) {
      case 'output':
      case 'scalar':
        this.#result(name, outputs[recipe.index]!);
        return;
      case 'number':
        this.#result(name, this.#numberValue(recipe.number));
        return;
      case 'made':
        this.#addMade(this.#portable.entry.makes[recipe.index]!, name, outputs);
        return;
      default:
        // Constants and the arguments themselves are known without a run.
        return;
    }
  }

  #addMade(make: SavedMake, name: string, outputs: readonly Value[]): void {
    if (make.kind === 'array') {
      make.items.forEach((item, i) => {
        this.#add(item, `${name}.${i}`, outputs);
      });
    } else if (make.kind === 'object') {
      for (const [key, item] of make.entries) this.#add(item, `${name}.${key}`, outputs);
    } else throw notExportable(`a ${make.kind} in the result`);
  }

  #effects(outputs: readonly Value[]): void {
    const { entry } = this.#portable;
    let drawn: Value | null = null;
    for (const effect of entry.effects) {
      if (effect.kind === 'set') this.#set(this.#name(effect.place), effect.value, outputs);
      else if (effect.kind === 'fill') throw notExportable('an array that the function changes');
      else if (effect.kind === 'draw') {
        if (effect.count.kind !== 'number')
          throw notExportable('a count of random numbers that branches decide');
        drawn = this.#numberValue(effect.count.number);
      }
    }
    if (entry.randomNumbers > 0) drawn = this.#to.constant(entry.randomNumbers, 'f64');
    if (!drawn) return;
    const offset = this.#number({ kind: 'random', field: 'offset' });
    this.#result('random.offset', this.#to.binary('add', offset, drawn));
  }

  #set(name: string, recipe: SavedRecipe, outputs: readonly Value[]): void {
    const isFed = this.#fedBy(name) !== null;
    if (recipe.kind === 'constant') {
      const { value } = recipe;
      if (isFed && typeof value === 'number') this.#result(name, this.#to.constant(value, 'f64'));
      return;
    }
    this.#add(recipe, name, outputs);
  }

  #numberValue(number: SavedNumber): Value {
    switch (number.kind) {
      case 'constant':
        return this.#to.constant(number.value, 'f64');
      case 'place':
        return this.#number(number.place);
      case 'apply':
        return scalarCall(
          this.#to,
          number.fn,
          number.args.map((arg) => this.#numberValue(arg)),
        );
    }
  }

  #text(): string {
    const parameters = this.#arguments.map((value) => `${value.id}: ${typeOf(value)}`).join(', ');
    const values = this.#results.map(({ value }) => value);
    const types = values.map(typeOf).join(', ');
    const ids = values.map(({ id }) => id).join(', ');
    const name = this.#portable.name.replace(/\W/g, '_') || 'program';
    return [
      `module @${name} {`,
      `  func.func public @main(${parameters}) -> (${types}) {`,
      ...this.#to.lines,
      `    return ${ids} : ${types}`,
      '  }',
      '}',
      '',
    ].join('\n');
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
