import { ArgumentError } from '../errors/errors.ts';
import { expectCallOptions } from '../functional/call-options.ts';
import { add, gelu, relu } from '../ops/pointwise/pointwise.ts';
import { expectTensors } from '../ops/record/expect-tensors.ts';
import { expectSizes } from '../options/expect-arguments.ts';
import { expectArguments, expectOptions, type OptionKinds } from '../options/expect-options.ts';
import {
  anyNumber,
  callback,
  count,
  either,
  flag,
  oneOf,
  orNull,
  probability,
  that,
} from '../options/option-kinds.ts';
import { tidy } from '../tensor/lifetime.ts';
import type { Tensor } from '../tensor/tensor.ts';
import { MultiheadAttention } from './attention.ts';
import { Dropout } from './dropout.ts';
import { Linear } from './linear.ts';
import { Module } from './module/module.ts';
import { LayerNorm } from './normalization.ts';

export interface TransformerLayerOptions {
  /** Features between the two linear layers; 2048 by default. */
  readonly dimFeedforward?: number;
  /** 0.1 by default. */
  readonly dropout?: number;
  /** `relu` by default. */
  readonly activation?: 'relu' | 'gelu' | ((x: Tensor) => Tensor);
  /** Added to the variances of the norms, 1e-5 by default. */
  readonly layerNormEps?: number;
  /** [batch, steps, features] instead of [steps, batch, features]. */
  readonly batchFirst?: boolean;
  /** Normalizes the input of each sublayer instead of its output. */
  readonly normFirst?: boolean;
  /** Whether linear layers, attention and norms have biases; true by default. */
  readonly bias?: boolean;
}

const layerKinds: OptionKinds<TransformerLayerOptions> = {
  dimFeedforward: count(1),
  dropout: probability,
  activation: either(oneOf('relu', 'gelu'), callback),
  layerNormEps: anyNumber,
  batchFirst: flag,
  normFirst: flag,
  bias: flag,
};

/** Attention masks, in the form that MultiheadAttention accepts. */
export interface SelfMasks {
  readonly mask?: Tensor | null;
  readonly keyPaddingMask?: Tensor | null;
}

export interface DecoderMasks extends SelfMasks {
  /** Masks attention to the encoder's output. */
  readonly memoryMask?: Tensor | null;
  readonly memoryKeyPaddingMask?: Tensor | null;
}

/** The two linear layers after attention, shared by encoder and decoder layers. */
abstract class TransformerLayer extends Module {
  readonly normFirst: boolean;
  readonly activation: (x: Tensor) => Tensor;
  selfAttn: MultiheadAttention;
  // Defined by the constructor: a decoder's second attention comes before them, as in PyTorch's order of parameters.
  declare linear1: Linear;
  declare dropout: Dropout;
  declare linear2: Linear;

  constructor(dModel: number, heads: number, options: TransformerLayerOptions, ...surplus: []) {
    super(...surplus);
    expectOptions(new.target.name, options, layerKinds);
    const { dimFeedforward = 2048, dropout = 0.1, batchFirst = false } = options;
    const { activation = 'relu', bias = true } = options;
    this.normFirst = options.normFirst ?? false;
    this.activation =
      typeof activation === 'function' ? activation : activation === 'gelu' ? exactGelu : relu;
    const attention = () => new MultiheadAttention(dModel, heads, { dropout, batchFirst, bias });
    this.selfAttn = attention();
    this.addAttention(attention);
    this.linear1 = new Linear(dModel, dimFeedforward, { bias });
    this.dropout = new Dropout(dropout);
    this.linear2 = new Linear(dimFeedforward, dModel, { bias });
  }

  /** Adds the attention of a subclass. */
  protected addAttention(_make: () => MultiheadAttention): void {}

  protected attendSelf(x: Tensor, masks: SelfMasks): Tensor {
    const { mask = null, keyPaddingMask = null } = masks;
    const call = { attnMask: mask, keyPaddingMask, needWeights: false };
    return this.selfAttn.forward(x, x, x, call)[0];
  }

  protected feedForward(x: Tensor): Tensor {
    return this.linear2.forward(this.dropout.forward(this.activation(this.linear1.forward(x))));
  }
}

function exactGelu(x: Tensor): Tensor {
  return gelu(x);
}

const decoderMasks = ['mask', 'keyPaddingMask', 'memoryMask', 'memoryKeyPaddingMask'] as const;
const allMasks = [...decoderMasks, 'sourceMask', 'sourceKeyPaddingMask'] as const;

/** Self-attention and two linear layers, each with a residual connection; preserves the shape. */
export class TransformerEncoderLayer extends TransformerLayer {
  norm1: LayerNorm;
  norm2: LayerNorm;
  dropout1: Dropout;
  dropout2: Dropout;

  constructor(
    dModel: number,
    heads: number,
    options: TransformerLayerOptions = {},
    ...surplus: []
  ) {
    super(dModel, heads, options, ...surplus);
    const { layerNormEps: eps = 1e-5, bias = true } = options;
    this.norm1 = new LayerNorm(dModel, { eps, bias });
    this.norm2 = new LayerNorm(dModel, { eps, bias });
    this.dropout1 = new Dropout(options.dropout ?? 0.1);
    this.dropout2 = new Dropout(options.dropout ?? 0.1);
  }

  override forward(source: Tensor, masks: SelfMasks = {}): Tensor {
    expectCallOptions('TransformerEncoderLayer', masks, ['mask', 'keyPaddingMask']);
    return tidy(() => {
      const attend = (x: Tensor) => this.dropout1.forward(this.attendSelf(x, masks));
      const feed = (x: Tensor) => this.dropout2.forward(this.feedForward(x));
      if (this.normFirst) {
        const attended = add(source, attend(this.norm1.forward(source)));
        return add(attended, feed(this.norm2.forward(attended)));
      }
      const attended = this.norm1.forward(add(source, attend(source)));
      return this.norm2.forward(add(attended, feed(attended)));
    });
  }
}

/** Self-attention, attention to the encoder's output and two linear layers, each with a residual connection. */
export class TransformerDecoderLayer extends TransformerLayer {
  declare multiheadAttn: MultiheadAttention;
  norm1: LayerNorm;
  norm2: LayerNorm;
  norm3: LayerNorm;
  dropout1: Dropout;
  dropout2: Dropout;
  dropout3: Dropout;

  constructor(
    dModel: number,
    heads: number,
    options: TransformerLayerOptions = {},
    ...surplus: []
  ) {
    super(dModel, heads, options, ...surplus);
    const { dropout = 0.1, layerNormEps: eps = 1e-5, bias = true } = options;
    this.norm1 = new LayerNorm(dModel, { eps, bias });
    this.norm2 = new LayerNorm(dModel, { eps, bias });
    this.norm3 = new LayerNorm(dModel, { eps, bias });
    this.dropout1 = new Dropout(dropout);
    this.dropout2 = new Dropout(dropout);
    this.dropout3 = new Dropout(dropout);
  }

  protected override addAttention(make: () => MultiheadAttention): void {
    this.multiheadAttn = make();
  }

  override forward(target: Tensor, memory: Tensor, masks: DecoderMasks = {}): Tensor {
    expectCallOptions('TransformerDecoderLayer', masks, decoderMasks);
    expectTensors('TransformerDecoderLayer', target, memory);
    return tidy(() => {
      const attend = (x: Tensor) => this.dropout1.forward(this.attendSelf(x, masks));
      const look = (x: Tensor) => this.dropout2.forward(this.attendMemory(x, memory, masks));
      const feed = (x: Tensor) => this.dropout3.forward(this.feedForward(x));
      if (this.normFirst) {
        const attended = add(target, attend(this.norm1.forward(target)));
        const looked = add(attended, look(this.norm2.forward(attended)));
        return add(looked, feed(this.norm3.forward(looked)));
      }
      const attended = this.norm1.forward(add(target, attend(target)));
      const looked = this.norm2.forward(add(attended, look(attended)));
      return this.norm3.forward(add(looked, feed(looked)));
    });
  }

  protected attendMemory(x: Tensor, memory: Tensor, masks: DecoderMasks): Tensor {
    const { memoryMask = null, memoryKeyPaddingMask = null } = masks;
    const call = { attnMask: memoryMask, keyPaddingMask: memoryKeyPaddingMask, needWeights: false };
    return this.multiheadAttn.forward(x, memory, memory, call)[0];
  }
}

/** Stacked layers. PyTorch copies one layer; here `make` creates each layer. */
abstract class TransformerStack<L extends Module> extends Module {
  readonly layers: readonly L[];
  norm: LayerNorm | null;

  constructor(
    make: (index: number) => L,
    numLayers: number,
    norm: LayerNorm | null,
    ...surplus: []
  ) {
    super(...surplus);
    if (typeof make !== 'function') throw notAMaker(this.constructor.name, make);
    expectSizes(`nn.${new.target.name}`, { numLayers });
    expectArguments(new.target.name, { norm }, normKinds);
    this.layers = Array.from({ length: numLayers }, (_, i) => layerFrom(new.target.name, make(i)));
    this.norm = norm;
  }
}

const aModule = that('a module', (value) => value instanceof Module);

const normKinds = { norm: orNull(aModule) };
const madeKinds = { layer: aModule };

function layerFrom<L extends Module>(name: string, layer: L): L {
  expectArguments(name, { layer }, madeKinds);
  return layer;
}

function notAMaker(name: string, value: unknown): ArgumentError {
  const layer = value instanceof Module ? value.constructor.name : null;
  return new ArgumentError({
    what: `${name}: the first argument makes a layer`,
    given: layer ? `a ${layer}, which PyTorch would copy` : String(value),
    expected: 'a function that returns a new layer',
    remedy: `write new nn.${name}(() => new nn.${layer ?? 'TransformerEncoderLayer'}(…), layers)`,
  });
}

/** `numLayers` encoder layers and an optional final normalization. */
export class TransformerEncoder extends TransformerStack<TransformerEncoderLayer> {
  constructor(
    make: (index: number) => TransformerEncoderLayer,
    numLayers: number,
    norm: LayerNorm | null = null,
    ...surplus: []
  ) {
    super(make, numLayers, norm, ...surplus);
  }

  override forward(source: Tensor, masks: SelfMasks = {}): Tensor {
    return tidy(() => {
      let output = source;
      for (const layer of this.layers) output = layer.forward(output, masks);
      return this.norm ? this.norm.forward(output) : output;
    });
  }
}

/** `numLayers` decoder layers and an optional final normalization. */
export class TransformerDecoder extends TransformerStack<TransformerDecoderLayer> {
  constructor(
    make: (index: number) => TransformerDecoderLayer,
    numLayers: number,
    norm: LayerNorm | null = null,
    ...surplus: []
  ) {
    super(make, numLayers, norm, ...surplus);
  }

  override forward(target: Tensor, memory: Tensor, masks: DecoderMasks = {}): Tensor {
    return tidy(() => {
      let output = target;
      for (const layer of this.layers) output = layer.forward(output, memory, masks);
      return this.norm ? this.norm.forward(output) : output;
    });
  }
}

export interface TransformerOptions extends TransformerLayerOptions {
  /** 512 by default. */
  readonly dModel?: number;
  /** 8 by default. */
  readonly nhead?: number;
  /** 6 by default. */
  readonly numEncoderLayers?: number;
  /** 6 by default. */
  readonly numDecoderLayers?: number;
}

const transformerKinds: OptionKinds<TransformerOptions> = {
  ...layerKinds,
  dModel: count(1),
  nhead: count(1),
  numEncoderLayers: count(0),
  numDecoderLayers: count(0),
};

/** The network of Vaswani et al.: source and target [steps, batch, features] → output shaped like the target. */
export class Transformer extends Module {
  encoder: TransformerEncoder;
  decoder: TransformerDecoder;

  constructor(options: TransformerOptions = {}, ...surplus: []) {
    super(...surplus);
    expectOptions('Transformer', options, transformerKinds);
    const {
      dModel = 512,
      nhead = 8,
      numEncoderLayers = 6,
      numDecoderLayers = 6,
      ...layer
    } = options;
    const { layerNormEps: eps = 1e-5, bias = true } = options;
    const norm = () => new LayerNorm(dModel, { eps, bias });
    this.encoder = new TransformerEncoder(
      () => new TransformerEncoderLayer(dModel, nhead, layer),
      numEncoderLayers,
      norm(),
    );
    this.decoder = new TransformerDecoder(
      () => new TransformerDecoderLayer(dModel, nhead, layer),
      numDecoderLayers,
      norm(),
    );
  }

  override forward(
    source: Tensor,
    target: Tensor,
    masks: DecoderMasks & {
      readonly sourceMask?: Tensor | null;
      readonly sourceKeyPaddingMask?: Tensor | null;
    } = {},
  ): Tensor {
    expectCallOptions('Transformer', masks, allMasks);
    expectTensors('Transformer', source, target);
    return tidy(() => {
      const { sourceMask = null, sourceKeyPaddingMask = null, ...others } = masks;
      const encoderMasks = { mask: sourceMask, keyPaddingMask: sourceKeyPaddingMask };
      return this.decoder.forward(target, this.encoder.forward(source, encoderMasks), others);
    });
  }
}
