/** From a module as PyTorch printed it to ours. */

import * as nn from '../../runtime/nn/index.ts';
import { camelCase, type PrintedModule, parsePrinted } from './printed-module.ts';
import type { ModuleRecord } from './recorded-nn.ts';

/** `extra`: options that PyTorch doesn't print, which stand in the record's name. */
type Make = (printed: PrintedModule, extra: Readonly<Record<string, unknown>>) => nn.Module;

/** A class whose sizes come first and whose options have PyTorch's names. */
function positional(Type: new (...args: never[]) => nn.Module, ...named: readonly string[]): Make {
  return (printed) => {
    const first = named.map((name) => printed.options[name]);
    const rest = Object.entries(printed.options).filter(([name]) => !named.includes(name));
    const args = [...printed.positional, ...first, Object.fromEntries(rest)];
    return new Type(...(args as never[]));
  };
}

const recurrent = (Type: typeof nn.RNN | typeof nn.GRU | typeof nn.LSTM): Make => positional(Type);

/** Not printed; all records have it. */
const heads = 2;

const makers: Readonly<Record<string, Make>> = {
  BatchNorm1d: positional(nn.BatchNorm1d),
  BatchNorm2d: positional(nn.BatchNorm2d),
  Linear: ({ options }) => {
    const { inFeatures, outFeatures, bias } = options;
    return new nn.Linear(inFeatures as number, outFeatures as number, { bias: bias as boolean });
  },
  Conv2d: positional(nn.Conv2d, 'kernelSize'),
  ConvTranspose2d: positional(nn.ConvTranspose2d, 'kernelSize'),
  Embedding: positional(nn.Embedding),
  LayerNorm: positional(nn.LayerNorm),
  GroupNorm: positional(nn.GroupNorm),
  RNN: recurrent(nn.RNN),
  LSTM: recurrent(nn.LSTM),
  GRU: recurrent(nn.GRU),
  MultiheadAttention: ({ children }, extra) => {
    const size = children.outProj!.options.outFeatures as number;
    return new nn.MultiheadAttention(size, heads, extra);
  },
  TransformerEncoderLayer: ({ children }, extra) => {
    const { inFeatures, outFeatures } = children.linear1!.options;
    return new nn.TransformerEncoderLayer(inFeatures as number, heads, {
      dimFeedforward: outFeatures as number,
      dropout: children.dropout!.options.p as number,
      layerNormEps: children.norm1!.options.eps as number,
      ...extra,
    });
  },
  GELU: ({ options }) => new nn.GELU(options.approximate as 'none' | 'tanh'),
  Softplus: ({ options }) => new nn.Softplus(options.beta as number, options.threshold as number),
  Hardswish: () => new nn.Hardswish(),
  PReLU: ({ options }) => new nn.PReLU(options.numParameters as number),
  Softsign: () => new nn.Softsign(),
};

export function moduleOf({ ctor, name }: ModuleRecord): nn.Module {
  const printed = parsePrinted(ctor);
  const make = makers[printed.name];
  if (!make) throw new Error(`the adapter doesn't know ${printed.name}`);
  const json = /\{.*\}$/.exec(name)?.[0] ?? '{}';
  const extra = Object.entries(JSON.parse(json) as object);
  return make(printed, Object.fromEntries(extra.map(([key, value]) => [camelCase(key), value])));
}
