/** Weights that a module computes from other parameters before each forward pass. */

import { noGrad } from '../../autograd/grad-mode.ts';
import type { HookHandle } from '../../backward/hooks.ts';
import { ArgumentError } from '../../errors/errors.ts';
import { copy_ } from '../../ops/in-place/in-place.ts';
import { norm } from '../../ops/linalg/norm.ts';
import { clone, reshape } from '../../ops/movement/movement.ts';
import { movedim, t } from '../../ops/movement/views.ts';
import { div, mul } from '../../ops/pointwise/pointwise.ts';
import { normalize } from '../../ops/products/distances.ts';
import { dot, mv } from '../../ops/products/products.ts';
import { randn } from '../../ops/random/drawn.ts';
import { expectWhole } from '../../ops/record/positional.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../../options/expect-options.ts';
import { anyInteger, count, positive, text, that } from '../../options/option-kinds.ts';
import { keep, tidy } from '../../tensor/lifetime.ts';
import { Tensor } from '../../tensor/tensor.ts';
import { setComputation } from '../module/computed-weights.ts';
import { Module } from '../module/module.ts';
import { otherNames } from '../module/module-state.ts';
import { buffer, parameter } from '../module/parameter.ts';
import { ownerOf } from './weight-owner.ts';

const ownerKinds = { module: that('a module', (value) => value instanceof Module), name: text };

type Properties = Record<string, Tensor>;

/** The hooks that compute weights, by weight name. */
const hooks = new WeakMap<Module, Map<string, HookHandle>>();

const propertiesOf = (module: Module) => module as unknown as Properties;

interface OwnWeight {
  readonly module: Module;
  readonly name: string;
  readonly weight: Tensor;
}

function weightOf(owner: string, root: Module, path: string): OwnWeight {
  expectArguments(owner, { module: root, name: path }, ownerKinds);
  const [module, name] = ownerOf(root, path);
  const weight: unknown = propertiesOf(module)[name];
  const isComputed =
    hooks.get(module)?.has(name) || Object.getOwnPropertyDescriptor(module, name)?.get;
  if (weight instanceof Tensor && !isComputed) return { module, name, weight };
  throw new ArgumentError({
    what: `${owner}: the weight is computed`,
    given: `${path} of a ${root.constructor.name}`,
    expected: 'a property that is a parameter, and that no norm or parametrization computes yet',
    remedy: 'pass the name of the parameter, such as weight',
  });
}

/** `layer.weightG` is `layer.parametrizations.weight.original0` where PyTorch parametrizes the weight. */
const ofParametrization: readonly (readonly [part: RegExp, name: string])[] = [
  [/(\w+)G$/, 'parametrizations.$1.original0'],
  [/(\w+)V$/, 'parametrizations.$1.original1'],
  [/(\w+)Orig$/, 'parametrizations.$1.original'],
  [/(\w+)U$/, 'parametrizations.$1.0._u'],
  [/(\w+)V$/, 'parametrizations.$1.0._v'],
];

const namesOfParametrization = (name: string): string[] =>
  ofParametrization.flatMap(([part, other]) =>
    part.test(name) ? [name.replace(part, other)] : [],
  );

/** Computes the property before each forward pass; before the first, it is the original weight. */
function computed(module: Module, name: string, weight: Tensor, compute: () => Tensor): void {
  const set = () => {
    propertiesOf(module)[name] = compute();
  };
  const run = () => {
    set();
    return null;
  };
  setComputation(module, name, set);
  if (!otherNames.includes(namesOfParametrization)) otherNames.push(namesOfParametrization);
  const handles = hooks.get(module) ?? new Map<string, HookHandle>();
  hooks.set(module, handles.set(name, module.registerForwardPreHook(run)));
  propertiesOf(module)[name] = keep(weight.detach());
}

/**
 * Weight normalization (Salimans and Kingma): replaces the parameter `weight` by weightG · weightV / ‖weightV‖,
 * with one norm per entry of dimension `dim`, or a single norm if `dim` is null. Returns the module.
 */
export function weightNorm<M extends Module>(owner: M, path = 'weight', dim: number | null = 0): M {
  const { module, name, weight } = weightOf('weightNorm', owner, path);
  if (dim !== null) expectWhole('weightNorm', 'dim', dim);
  const properties = propertiesOf(module);
  const others = [...weight.shape.keys()].filter((d) => dim !== null && d !== dim % weight.rank);
  const length = (v: Tensor) =>
    norm(v, 2, dim === null ? undefined : others, { keepDim: dim !== null });
  const [g, v] = [`${name}G`, `${name}V`];
  properties[g] = parameter(noGrad(() => length(weight)));
  properties[v] = weight;
  computed(module, name, weight, () =>
    tidy(() => mul(properties[v]!, div(properties[g]!, length(properties[v]!)))),
  );
  return owner;
}

/** Turns the current value of a normalized weight back into a parameter. Returns the module. */
export function removeWeightNorm<M extends Module>(owner: M, path = 'weight'): M {
  expectArguments('removeWeightNorm', { module: owner, name: path }, ownerKinds);
  const [module, name] = ownerOf(owner, path);
  const hook = hooks.get(module)?.get(name);
  if (!hook) throw weightOf('removeWeightNorm', owner, `${path}, which no norm computes,`);
  hook.remove();
  hooks.get(module)!.delete(name);
  setComputation(module, name, null);
  const properties = propertiesOf(module);
  properties[name] = parameter(properties[name]!.detach());
  for (const part of ['G', 'V']) delete properties[name + part];
  return owner;
}

export interface SpectralNormOptions {
  /** Power iteration steps per forward pass in training; 1 by default. */
  readonly nPowerIterations?: number;
  /** The lower bound of the iteration's norms, by which it divides. */
  readonly eps?: number;
  /** The output dimension: 0 by default, 1 for transposed convolutions. */
  readonly dim?: number;
}

const spectralKinds: OptionKinds<SpectralNormOptions> = {
  nPowerIterations: count(1),
  eps: positive,
  dim: anyInteger,
};

/**
 * Spectral normalization (Miyato et al.): divides the parameter, now `weightOrig`, by its largest singular value,
 * estimated by power iteration with the buffers weightU and weightV. Returns the module.
 */
export function spectralNorm<M extends Module>(
  owner: M,
  path = 'weight',
  options: SpectralNormOptions = {},
): M {
  expectOptions('spectralNorm', options, spectralKinds);
  const { nPowerIterations = 1, eps = 1e-12, dim = 0 } = options;
  const { module, name, weight } = weightOf('spectralNorm', owner, path);
  const properties = propertiesOf(module);
  const [original, left, right] = [`${name}Orig`, `${name}U`, `${name}V`];
  const matrix = () => {
    const rows = movedim(properties[original]!, dim, 0);
    return reshape(rows, [rows.shape[0]!, -1]);
  };
  const direction = (x: Tensor) => normalize(x, { dim: 0, eps });
  properties[original] = weight;
  noGrad(() => {
    const [rows, columns] = matrix().shape as [number, number];
    properties[left] = buffer(direction(randn([rows], { dtype: weight.dtype })));
    properties[right] = buffer(direction(randn([columns], { dtype: weight.dtype })));
  });
  const iterate = () => {
    for (let step = 0; step < nPowerIterations; step++) {
      copy_(properties[right]!, direction(mv(t(matrix()), properties[left]!)));
      copy_(properties[left]!, direction(mv(matrix(), properties[right]!)));
    }
  };
  computed(module, name, weight, () =>
    tidy(() => {
      if (module.training) noGrad(iterate);
      // Cloned, because the next forward pass may overwrite the buffers before this pass's backward.
      const [u, v] = [clone(properties[left]!), clone(properties[right]!)];
      return div(properties[original]!, dot(u, mv(matrix(), v)));
    }),
  );
  return owner;
}
