/** Sources, numbers, facts and results of a saved entry, as JavaScript. */

import type { NumberExprOf } from '../../../../runtime/entry/number-expr.ts';
import { invariant } from '../../../../runtime/errors/invariant.ts';
import { scalarFunctions } from '../../../../runtime/ops/numbers/scalar-functions.ts';
import type { ScalarTable } from '../../../../runtime/ops/numbers/symbolic-number.ts';
import type { Primitive } from '../../../../runtime/save/primitive.ts';
import type { SavedNumber, SavedRecipe } from '../../../../runtime/save/recipe.ts';
import type { SavedEntry } from '../../../../runtime/save/saved-entry.ts';
import type { SavedGuard } from '../../../../runtime/save/saved-guard.ts';
import type { SavedSource } from '../../../../runtime/save/saved-source.ts';
import { notInModule } from '../recording/recording-device.ts';

export function primitiveText(value: Primitive): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  return value === undefined ? 'undefined' : JSON.stringify(value);
}

/** `shapeOf`: returns the shape of a value known to be a tensor. */
export class ExpressionWriter {
  readonly #shapeOf: (source: SavedSource) => readonly number[] | null;

  constructor(shapeOf: (source: SavedSource) => readonly number[] | null) {
    this.#shapeOf = shapeOf;
  }

  source(source: SavedSource): string {
    switch (source.kind) {
      case 'argument':
        return `args[${source.index}]`;
      case 'argumentCount':
        return 'args.length';
      case 'state':
        return `values[${source.index}]`;
      case 'random':
        return source.field === 'seed' ? 'seed' : 'offset';
      case 'property':
      case 'hasProperty': {
        const { base, key } = source;
        const shape = this.#shapeOf(base);
        if (shape && source.kind === 'property') {
          if (key === 'shape') return `[${shape.join()}]`;
          if (key === 'size') return String(shape.reduce((a, b) => a * b, 1));
        }
        const form = source.kind === 'property' ? 'own' : 'has';
        return `${form}(${this.source(base)},${JSON.stringify(key)})`;
      }
    }
  }

  number(number: SavedNumber): string {
    return numberText(number, ({ source }) => this.source(source));
  }

  /** Returns an expression for whether a fact is true. */
  guard(guard: SavedGuard): string {
    if (guard.kind === 'number') {
      return `Object.is(${this.number(guard.expr)},${primitiveText(guard.value)})`;
    }
    const value = this.source(guard.source);
    switch (guard.kind) {
      case 'value':
        return `Object.is(${value},${primitiveText(guard.value)})`;
      case 'truthy':
        return `${guard.truthy ? '!!' : '!'}${value}`;
      case 'defined':
        return `${value}!=null`;
      case 'typeof':
        return `typeof ${value}===${JSON.stringify(guard.type)}`;
      case 'isArray':
        return `${guard.isArray ? '' : '!'}Array.isArray(${value})`;
      case 'keys':
        return `hasKeys(${value},${JSON.stringify(guard.keys)})`;
      case 'same':
        return `(${value}===${this.source(guard.other)})===${guard.same}`;
      case 'tensor':
        return `hasShape(${value},${JSON.stringify(guard.shape)})`;
    }
  }

  /** `output`, `scalar`: the text of an output, and of its only element. */
  recipe(recipe: SavedRecipe, texts: RecipeTexts): string {
    switch (recipe.kind) {
      case 'constant':
        return primitiveText(recipe.value);
      case 'source':
        return texts.place(recipe.source);
      case 'number':
        return this.number(recipe.expr);
      case 'output':
        return texts.output(recipe.index);
      case 'scalar':
        return texts.scalar(recipe.index, recipe.type);
      case 'made':
        return `made${recipe.index}`;
      case 'choice':
      case 'text':
        throw notInModule('a result', 'a text or a choice that depends on data');
    }
  }

  /** Statements that create the objects of a call. */
  makes(makes: SavedEntry['makes'], texts: RecipeTexts): string {
    const empty = makes.map((make, i) => {
      if (make.kind === 'list') throw notInModule('a list', 'a length that depends on data');
      const literal = { array: '[]', object: '{}', collection: '' }[make.kind];
      return `const made${i}=${make.kind === 'collection' ? `new ${make.type}` : literal};`;
    });
    const fills = makes.map((make, i) => this.#fill(make, `made${i}`, texts));
    return [...empty, ...fills].join('');
  }

  #fill(make: SavedEntry['makes'][number], target: string, texts: RecipeTexts): string {
    const read = (recipe: SavedRecipe) => this.recipe(recipe, texts);
    switch (make.kind) {
      case 'array': {
        const items = make.elements.map((each, k) =>
          each ? `${target}[${k}]=${read(each)};` : '',
        );
        return `${items.join('')}${target}.length=${make.elements.length};`;
      }
      case 'object':
        return make.entries
          .map(([key, value]) => `define(${target},${JSON.stringify(key)},${read(value)});`)
          .join('');
      case 'collection': {
        const add = make.type === 'Map' ? 'set' : 'add';
        return make.entries
          .map((entry) => {
            const parts = make.type === 'Map' ? entry : entry.slice(0, 1);
            return `${target}.${add}(${parts.map(read).join()});`;
          })
          .join('');
      }
      case 'list':
        return '';
    }
  }
}

export interface RecipeTexts {
  readonly output: (index: number) => string;
  readonly scalar: (index: number, type: 'number' | 'boolean') => string;
  readonly place: (source: SavedSource) => string;
}

type Leaf = { readonly kind: 'source'; readonly source: SavedSource };

function numberText(number: NumberExprOf<Leaf>, leafText: (leaf: Leaf) => string): string {
  if (number.kind === 'constant') return `(${primitiveText(number.value)})`;
  if (number.kind !== 'apply') return leafText(number);
  return callText(
    number.fn,
    number.args.map((arg) => numberText(arg, leafText)),
  );
}

const unaryText: Readonly<Record<string, string>> = {
  negate: '-',
  '~': '~',
  Number: '+',
  '!': '!',
};

/** A function of numbers, by its name in programs. */
function callText(fn: string, args: readonly string[]): string {
  invariant(scalarFunctions.has(fn), `${fn} is no function of numbers`);
  if (Object.hasOwn(unaryText, fn)) return `(${unaryText[fn]}(${args[0]}))`;
  if (fn === '?:') return `(${args[0]}?${args[1]}:${args[2]})`;
  if (!/^[A-Za-z]/.test(fn)) return `((${args[0]})${fn}(${args[1]}))`;
  const name = fn === 'isNaN' || fn === 'isFinite' ? `Number.${fn}` : fn;
  return `${name}(${args.join()})`;
}

/** Statements for the run's numbers in `needed`, and those that they depend on: `s3=s1*s2`. */
export function scalarStatements(
  table: ScalarTable,
  inputs: readonly string[],
  needed: Iterable<number>,
): string {
  const used = new Set<number>();
  const use = (id: number): void => {
    if (used.has(id)) return;
    used.add(id);
    const node = table.nodes[id]!;
    if (node.kind === 'apply') for (const arg of node.args) use(arg);
  };
  for (const id of needed) use(id);
  const ids = [...used].sort((a, b) => a - b);
  return ids
    .map((id) => {
      const node = table.nodes[id]!;
      // A run stores numbers as float64: true is 1.
      if (node.kind === 'input') return `const s${id}=+${inputs[node.index]!};`;
      if (node.kind === 'constant') return `const s${id}=${primitiveText(node.value)};`;
      return `const s${id}=+${callText(
        node.fn,
        node.args.map((arg) => `s${arg}`),
      )};`;
    })
    .join('');
}
