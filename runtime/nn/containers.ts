import { absentProperty } from '../errors/absent-names.ts';
import { ArgumentError } from '../errors/errors.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectArguments, shown } from '../options/expect-options.ts';
import { anObject, anyInteger, iterable, text } from '../options/option-kinds.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { isModule } from './module/is-module.ts';
import { Module } from './module/module.ts';
import { isParameter, type Parameter, parameter } from './module/parameter.ts';
import { thrownBy } from './thrown-by.ts';

/** A module whose `forward` maps one tensor to one tensor. */
export interface Layer extends Module {
  forward(input: Tensor): Tensor;
}

function expectLayer(layer: unknown, at: number): void {
  if (typeof (layer as Layer | null)?.forward === 'function') return;
  throw new ArgumentError({
    what: 'Sequential: not a layer',
    given: `${shown(layer)} as layer ${at}`,
    expected: 'modules with forward()',
    remedy: Array.isArray(layer)
      ? 'pass the layers one by one: new nn.Sequential(...layers)'
      : (layer as { readonly prototype?: unknown } | null)?.prototype instanceof Module
        ? 'construct it: new nn.ReLU()'
        : 'wrap a function in a module: class Relu extends nn.Module { forward(x) { return x.relu(); } }',
  });
}

/** `list[0]` would be undefined, as JavaScript has no operator for it. */
const noElement = (owner: string): never =>
  absentProperty(owner, '0', 'list.at(0) is the first one; for (const layer of list) visits all');

/** Runs its layers in order; they are named by position. */
export class Sequential extends Module {
  readonly layers: Layer[];

  constructor(...layers: Layer[]) {
    super();
    layers.forEach(expectLayer);
    this.layers = layers;
  }

  get length(): number {
    return this.layers.length;
  }

  get 0(): never {
    return noElement('Sequential');
  }

  /** Returns the layer at an index, counted from the end if negative. */
  at(index: number): Layer | undefined {
    return this.layers.at(index);
  }

  append(layer: Layer): this {
    expectLayer(layer, this.length);
    this.layers.push(layer);
    return this;
  }

  [Symbol.iterator](): Iterator<Layer> {
    return this.layers[Symbol.iterator]();
  }

  override stateName(path: string): string {
    return path.replace(/^layers\./, '');
  }

  override forward(input: Tensor): Tensor {
    let output = input;
    let at = 0;
    try {
      for (const layer of this.layers) {
        output = layer.forward(output);
        at++;
      }
    } catch (error) {
      throw thrownBy(this.layers[at]!, at, error);
    }
    return output;
  }
}

/** Returns the modules as an array; throws ArgumentError for anything else among them. */
function modulesIn<M extends Module>(name: string, iterable: Iterable<M>): M[] {
  const modules = [...iterable];
  const at = modules.findIndex((each) => !isModule(each));
  if (at < 0) return modules;
  throw new ArgumentError({
    what: `${name}: not a module`,
    given: shown(modules[at]),
    expected: 'modules',
    remedy:
      'wrap a function in a module: class Relu extends nn.Module { forward(x) { return x.relu(); } }',
  });
}

/** A list of modules, named by position. It has no `forward`: the owner decides how to run them. */
export class ModuleList<M extends Module = Module> extends Module {
  readonly items: M[];

  constructor(modules: Iterable<M> = [], ...surplus: []) {
    super(...surplus);
    expectArguments('nn.ModuleList', { modules }, { modules: iterable });
    this.items = modulesIn('nn.ModuleList', modules);
  }

  get length(): number {
    return this.items.length;
  }

  get 0(): never {
    return noElement('ModuleList');
  }

  /** Returns the module at an index, counted from the end if negative. */
  at(index: number): M | undefined {
    return this.items.at(index);
  }

  push(...modules: M[]): this {
    this.items.push(...modulesIn('nn.ModuleList', modules));
    return this;
  }

  append(module: M): this {
    return this.push(module);
  }

  extend(modules: Iterable<M>): this {
    expectArguments('nn.ModuleList', { modules }, { modules: iterable });
    return this.push(...modules);
  }

  /** Inserts a module before the one at an index, counted from the end if negative. */
  insert(index: number, module: M): this {
    expectArguments('nn.ModuleList', { index }, { index: anyInteger });
    this.items.splice(index, 0, ...modulesIn('nn.ModuleList', [module]));
    return this;
  }

  [Symbol.iterator](): Iterator<M> {
    return this.items[Symbol.iterator]();
  }

  override stateName(path: string): string {
    return path.replace(/^items\./, '');
  }
}

/** Modules by name. It has no `forward`: the owner decides how to run them. */
export class ModuleDict<M extends Module = Module> extends Module {
  readonly items: Map<string, M>;

  constructor(modules: Readonly<Record<string, M>> = {}, ...surplus: []) {
    super(...surplus);
    expectArguments('nn.ModuleDict', { modules }, { modules: anObject });
    modulesIn('nn.ModuleDict', Object.values(modules));
    this.items = new Map(Object.entries(modules));
  }

  get size(): number {
    return this.items.size;
  }

  get(name: string): M | undefined {
    return this.items.get(name);
  }

  set(name: string, module: M): this {
    expectArguments('nn.ModuleDict', { name }, { name: text });
    modulesIn('nn.ModuleDict', [module]);
    this.items.set(name, module);
    return this;
  }

  has(name: string): boolean {
    return this.items.has(name);
  }

  delete(name: string): boolean {
    return this.items.delete(name);
  }

  keys(): Iterable<string> {
    return this.items.keys();
  }

  values(): Iterable<M> {
    return this.items.values();
  }

  entries(): Iterable<[string, M]> {
    return this.items.entries();
  }

  [Symbol.iterator](): Iterator<[string, M]> {
    return this.items[Symbol.iterator]();
  }

  protected override ownValues(): Iterable<[string, unknown]> {
    return this.items;
  }
}

/** A list of parameters, named by position; tensors without a gradient become parameters. */
export class ParameterList extends Module {
  readonly items: Parameter[];

  constructor(tensors: Iterable<Tensor> = [], ...surplus: []) {
    super(...surplus);
    expectArguments('nn.ParameterList', { tensors }, { tensors: iterable });
    this.items = Array.from(tensors, asParameter);
  }

  get length(): number {
    return this.items.length;
  }

  /** Returns the parameter at an index, counted from the end if negative. */
  at(index: number): Parameter | undefined {
    return this.items.at(index);
  }

  push(...tensors: Tensor[]): this {
    this.items.push(...tensors.map(asParameter));
    return this;
  }

  [Symbol.iterator](): Iterator<Parameter> {
    return this.items[Symbol.iterator]();
  }

  override stateName(path: string): string {
    return path.replace(/^items\./, '');
  }
}

/** Parameters by name; tensors without a gradient become parameters. */
export class ParameterDict extends Module {
  readonly items: Record<string, Parameter> = {};

  constructor(tensors: Readonly<Record<string, Tensor>> = {}, ...surplus: []) {
    super(...surplus);
    expectArguments('nn.ParameterDict', { tensors }, { tensors: anObject });
    for (const [name, tensor] of Object.entries(tensors)) this.items[name] = asParameter(tensor);
  }

  get(name: string): Parameter | undefined {
    return this.items[name];
  }

  set(name: string, tensor: Tensor): this {
    expectArguments('nn.ParameterDict', { name }, { name: text });
    this.items[name] = asParameter(tensor);
    return this;
  }

  keys(): Iterable<string> {
    return Object.keys(this.items);
  }

  [Symbol.iterator](): Iterator<[string, Parameter]> {
    return Object.entries(this.items)[Symbol.iterator]();
  }

  protected override ownValues(): Iterable<[string, unknown]> {
    return Object.entries(this.items);
  }

  override *tensorHolders(): Generator<object> {
    yield this.items;
  }
}

function asParameter(tensor: Tensor): Parameter {
  expectTensors('parameter', tensor);
  return isParameter(tensor) ? tensor : parameter(tensor);
}
