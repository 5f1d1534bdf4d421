import { describe, expect, it } from 'vitest';
import { TostaticError } from '../../runtime/errors/errors.ts';
import * as ours from '../../runtime/index.ts';
import { tidy } from '../../runtime/tensor/lifetime.ts';
import { allocated, type Tensor, tensor } from './eager.ts';

const f = (...shape: number[]) => ours.zeros(shape);
const i = (...shape: number[]) => ours.zeros(shape, { dtype: 'int32' });
const labels = (...values: number[]) => tensor(Int32Array.from(values));
const disposed = () => {
  const x = f(2, 2);
  x.dispose();
  return x;
};

/** Call → how its error's first line starts. Each constraint of an op is violated once. */
const mistakes: Readonly<Record<string, readonly [run: () => unknown, what: string]>> = {
  // Normalization
  'layerNorm of another shape': [() => ours.layerNorm(f(2, 3), 4), 'ShapeError: layerNorm'],
  'layerNorm weight': [() => ours.layerNorm(f(2, 3), 3, f(4)), 'ShapeError: layerNorm'],
  'groupNorm of uneven groups': [() => ours.groupNorm(f(2, 3, 4), 2), 'ArgumentError: groupNorm'],
  'groupNorm without channels': [() => ours.groupNorm(f(3), 1), 'ShapeError: groupNorm'],
  'batchNorm of one value': [
    () => ours.batchNorm(f(1, 3), null, null, { training: true }),
    'ShapeError: batchNorm',
  ],
  'batchNorm without statistics': [
    () => ours.batchNorm(f(2, 3), null, null),
    'ArgumentError: batchNorm',
  ],
  'instanceNorm bias': [
    () => ours.instanceNorm(f(2, 3, 4), { bias: f(2) }),
    'ShapeError: instanceNorm',
  ],
  'localResponseNorm of a vector': [
    () => ours.localResponseNorm(f(3), 3),
    'ShapeError: localResponseNorm',
  ],
  // Convolution and pooling
  'conv1d of a matrix weight': [() => ours.conv1d(f(1, 2, 5), f(3, 2)), 'ShapeError: conv1d'],
  'conv2d channels': [() => ours.conv2d(f(1, 2, 5, 5), f(3, 4, 2, 2)), 'ShapeError: conv2d'],
  'conv2d kernel too large': [
    () => ours.conv2d(f(1, 1, 2, 2), f(1, 1, 3, 3)),
    'ShapeError: conv2d',
  ],
  'conv2d stride 0': [
    () => ours.conv2d(f(1, 1, 3, 3), f(1, 1, 2, 2), null, { stride: 0 }),
    'ArgumentError: conv2d',
  ],
  'conv2d same with a stride': [
    () => ours.conv2d(f(1, 1, 3, 3), f(1, 1, 2, 2), null, { stride: 2, padding: 'same' }),
    "ArgumentError: conv2d: padding 'same'",
  ],
  'conv3d same with a stride': [
    () =>
      ours.conv3d(f(1, 1, 3, 3, 3), f(1, 1, 2, 2, 2), null, { stride: [2, 1, 1], padding: 'same' }),
    "ArgumentError: conv3d: padding 'same'",
  ],
  'Conv2d same with a stride and a border': [
    () => new ours.nn.Conv2d(1, 1, 3, { stride: 2, padding: 'same', paddingMode: 'circular' }),
    "ArgumentError: nn.Conv2d: padding 'same'",
  ],
  'convTranspose2d channels': [
    () => ours.convTranspose2d(f(1, 2, 3, 3), f(3, 1, 2, 2)),
    'ShapeError: convTranspose2d',
  ],
  'convTranspose2d outputPadding': [
    () => ours.convTranspose2d(f(1, 1, 3, 3), f(1, 1, 2, 2), null, { outputPadding: 1 }),
    'ShapeError: convTranspose2d',
  ],
  'maxPool2d window': [() => ours.maxPool2d(f(1, 1, 2, 2), 3), 'ShapeError: maxPool2d'],
  'maxPool2d padding': [
    () => ours.maxPool2d(f(1, 1, 4, 4), 2, { padding: 2 }),
    'ShapeError: maxPool2d',
  ],
  'maxPool1d of a vector': [() => ours.maxPool1d(f(4), 2), 'ShapeError: maxPool1d'],
  'avgPool2d window 0': [() => ours.avgPool2d(f(1, 4, 4), 0), 'ArgumentError: avgPool2d'],
  'avgPool2d divisor 0': [
    () => ours.avgPool2d(f(1, 4, 4), 2, { divisorOverride: 0 }),
    'ArgumentError: avgPool2d',
  ],
  'adaptiveAvgPool1d size': [
    () => ours.adaptiveAvgPool1d(f(1, 2, 3), -1),
    'ArgumentError: adaptiveAvgPool1d',
  ],
  'adaptiveMaxPool2d of a matrix': [
    () => ours.adaptiveMaxPool2d(f(2, 3), 1),
    'ShapeError: adaptiveMaxPool2d',
  ],
  'interpolate without a size': [
    () => ours.interpolate(f(1, 1, 4), {}),
    'ArgumentError: interpolate',
  ],
  'interpolate mode and rank': [
    () => ours.interpolate(f(1, 1, 4), { size: 2, mode: 'bilinear' }),
    'ArgumentError: interpolate',
  ],
  'interpolate to nothing': [
    () => ours.interpolate(f(1, 1, 4), { size: 0 }),
    'ShapeError: interpolate',
  ],
  'pixelShuffle factor': [() => ours.pixelShuffle(f(1, 3, 2, 2), 2), 'ShapeError: pixelShuffle'],
  'im2col kernel': [() => ours.im2col(f(1, 1, 2, 2), 3), 'ArgumentError: im2col'],
  'col2im columns': [() => ours.col2im(f(1, 4, 3), 3, 2), 'ShapeError: col2im'],
  // Products
  'mm of vectors': [() => ours.mm(f(3), f(3)), 'ShapeError: mm'],
  'bmm of different batches': [() => ours.bmm(f(2, 1, 1), f(3, 1, 1)), 'ShapeError: bmm'],
  'dot of different lengths': [() => ours.dot(f(2), f(3)), 'ShapeError: dot'],
  'tensordot sizes': [() => ours.tensordot(f(2, 3), f(2, 3), 1), 'ShapeError: tensordot'],
  'cross without threes': [() => ours.cross(f(2), f(2)), 'ArgumentError: cross'],
  'cdist columns': [() => ours.cdist(f(2, 3), f(2, 4)), 'ShapeError: cdist'],
  'einsum with a strange letter': [
    () => ours.einsum('i,1->i', [f(2), f(2)]),
    'ArgumentError: einsum',
  ],
  'einsum terms': [() => ours.einsum('i,j->i', [f(2)]), 'ArgumentError: einsum'],
  'einsum rank': [() => ours.einsum('ij->i', [f(2)]), 'ArgumentError: einsum'],
  'einsum sizes': [() => ours.einsum('i,i->i', [f(2), f(3)]), 'ShapeError: einsum'],
  'einsum result': [() => ours.einsum('i->j', [f(2)]), 'ArgumentError: einsum'],
  'attention features': [
    () => ours.scaledDotProductAttention(f(2, 3), f(2, 4), f(2, 4)),
    'ShapeError: scaledDotProductAttention',
  ],
  'attention with two masks': [
    () =>
      ours.scaledDotProductAttention(f(2, 3), f(2, 3), f(2, 3), {
        attnMask: f(2, 2),
        isCausal: true,
      }),
    'ArgumentError: scaledDotProductAttention',
  ],
  // Losses
  'crossEntropy label': [
    () => ours.crossEntropy(f(2, 3), labels(0, 3)),
    'ArgumentError: crossEntropy, nllLoss',
  ],
  'crossEntropy label, weighed': [
    () => ours.crossEntropy(f(2, 3), labels(0, 3), { reduction: 'sum' }),
    'ArgumentError: crossEntropy: an index is out of range',
  ],
  'crossEntropy shapes': [
    () => ours.crossEntropy(f(2, 3, 4), labels(0, 1)),
    'ShapeError: crossEntropy',
  ],
  'crossEntropy of floats': [() => ours.crossEntropy(f(2, 3), f(2)), 'DTypeError: crossEntropy'],
  'crossEntropy of whole scores': [
    () => ours.crossEntropy(i(2, 3), labels(0, 1)),
    'DTypeError: crossEntropy',
  ],
  'crossEntropy lengths': [
    () => ours.crossEntropy(f(2, 3), labels(0, 1, 2)),
    'ShapeError: crossEntropy',
  ],
  'crossEntropy weights': [
    () => ours.crossEntropy(f(2, 3), labels(0, 1), { weight: f(2) }),
    'ShapeError: crossEntropy',
  ],
  'crossEntropy smoothing': [
    () => ours.crossEntropy(f(2, 3), labels(0, 1), { labelSmoothing: 2 }),
    'ArgumentError: crossEntropy',
  ],
  'a reduction that does not exist': [
    () => ours.l1Loss(f(2), f(2), { reduction: 'average' as never }),
    'ArgumentError: l1Loss',
  ],
  'klDiv of an empty batch': [
    () => ours.klDiv(f(0, 3), f(0, 3), { reduction: 'batchmean' }),
    'ArgumentError: klDiv',
  ],
  'gaussianNllLoss variance': [
    () => ours.gaussianNllLoss(f(2, 3), f(2, 3), f(3)),
    'ShapeError: gaussianNllLoss',
  ],
  // Along dimensions
  'cummax dimension': [() => ours.cummax(f(2), 1), 'ArgumentError: cummax'],
  'diff of a scalar': [() => ours.diff(f()), 'ArgumentError: diff'],
  'diff order': [() => ours.diff(f(3), -1), 'ArgumentError: diff'],
  'gradient of one entry': [() => ours.gradient(f(1)), 'ArgumentError: gradient'],
  'gradient spacing': [() => ours.gradient(f(3, 3), { spacing: [1] }), 'ArgumentError: gradient'],
  'glu of an odd size': [() => ours.glu(f(3)), 'ShapeError: glu'],
  'prelu channels': [() => ours.prelu(f(2, 3), f(2)), 'ShapeError: prelu'],
  'quantile share': [() => ours.quantile(f(3), 2), 'ArgumentError: quantile'],
  'median of nothing': [() => ours.median(f(0, 2), 0), 'ShapeError: median'],
  'nuclear norm of a vector': [() => ours.norm(f(3), 'nuc'), 'ShapeError: norm'],
  'polygamma order': [() => ours.polygamma(-1, f(2)), 'ArgumentError: polygamma'],
  // Indices
  'scatterReduce index': [
    () => ours.scatterReduce(f(3), 0, labels(3), f(1), 'prod'),
    'ArgumentError: scatterReduce: an index is out of range',
  ],
  'scatterReduce reduction': [
    () => ours.scatterReduce(f(3), 0, labels(0), f(1), 'max' as never),
    'ArgumentError: scatterReduce',
  ],
  'scatterReduce of float indices': [
    () => ours.scatterReduce(f(3), 0, f(1), f(1), 'sum'),
    'DTypeError: scatterReduce',
  ],
  'scatterReduce source': [
    () => ours.scatterReduce(f(3), 0, labels(0, 1), f(1), 'sum'),
    'ShapeError: scatterReduce',
  ],
  'indexReduce of a matrix': [
    () => ours.indexReduce(f(3), 0, i(1, 1), f(1), 'prod'),
    'ShapeError: indexReduce',
  ],
  'selectScatter entry': [
    () => ours.selectScatter(f(2, 3), f(3), 0, 2),
    'ArgumentError: selectScatter',
  ],
  'sliceScatter shape': [() => ours.sliceScatter(f(4), f(3), 0, 0, 2), 'ShapeError: sliceScatter'],
  'diagonalScatter shape': [
    () => ours.diagonalScatter(f(2, 2), f(3)),
    'ShapeError: diagonalScatter',
  ],
  'maskedScatter of too few': [
    () => ours.maskedScatter(f(3), tensor([true, true, true]), f(2)),
    'ArgumentError: maskedScatter: an index is out of range',
  ],
  'maskedScatter of none': [
    () => ours.maskedScatter(f(3), tensor([false, true, false]), f(0)),
    'ArgumentError: maskedScatter: an index is out of range',
  ],
  'interpolate corners': [
    () => ours.interpolate(f(1, 1, 4), { size: 2, alignCorners: true }),
    'ArgumentError: interpolate: alignCorners',
  ],
  'multiDot sizes': [() => ours.multiDot([f(2, 3), f(2, 3)]), 'ShapeError: multiDot'],
  'multiDot of one': [() => ours.multiDot([f(2, 3)]), 'ShapeError: multiDot'],
  'vecdot sizes': [() => ours.vecdot(f(2, 3), f(2, 2)), 'ShapeError: vecdot'],
  'lpPool2d window': [() => ours.lpPool2d(f(1, 1, 2, 2), 2, 3), 'ShapeError: lpPool2d'],
  'bincount of negatives': [() => ours.bincount(labels(-1)), 'ArgumentError: bincount'],
  'bincount of floats': [() => ours.bincount(f(2)), 'DTypeError: bincount'],
  'histc bins': [() => ours.histc(f(3), 0), 'ArgumentError: histc'],
  'searchsorted rows': [() => ours.searchsorted(f(2, 3), f(3, 3)), 'ShapeError: searchsorted'],
  'repeatInterleave counts': [
    () => ours.repeatInterleave(f(3), labels(1, 2), 0),
    'ArgumentError: repeatInterleave',
  ],
  'diagEmbed dimensions': [() => ours.diagEmbed(f(2), 0, 1, 1), 'ArgumentError: diagEmbed'],
  // Any op
  'a disposed tensor': [() => ours.layerNorm(disposed(), 2), 'DisposedError: layerNorm'],
  'a number for a tensor': [() => ours.fmax(f(2), 3 as never), 'ArgumentError: fmax'],
  'tensors on two devices': [
    () => {
      const other = ours.deviceGuard('meta', () => f(2));
      return ours.hypot(f(2), other);
    },
    'DeviceError: hypot',
  ],
};

describe('a violated constraint is a named error; nothing stays allocated, nothing is changed', () => {
  for (const [name, [run, what]] of Object.entries(mistakes)) {
    it(name, () => {
      const before = allocated();
      tidy(() => {
        let message = 'no error';
        try {
          run();
        } catch (error) {
          expect(error).toBeInstanceOf(TostaticError);
          const own = error as TostaticError;
          message = `${own.name}: ${own.message}`;
          expect(message).toContain('given:');
          expect(message).toContain('remedy:');
        }
        expect(message.startsWith(what), `${message}\n expected ${what}`).toBe(true);
      });
      expect(allocated()).toBe(before);
    });
  }

  it('operands keep their values and versions', () => {
    tidy(() => {
      const [mean, variance] = [ours.ones([3]), ours.ones([3])] as [Tensor, Tensor];
      const versions = () => [mean.holder!.version, variance.holder!.version];
      const before = versions();
      expect(() => ours.batchNorm(f(1, 3), mean, variance, { training: true })).toThrow();
      expect(() =>
        ours.batchNorm(f(2, 3), mean, variance, { training: true, weight: f(2) }),
      ).toThrow();
      expect(versions()).toEqual(before);
      const weight = ours.ones([2, 2]);
      expect(() => ours.embedding(weight, labels(2), { maxNorm: 1 })).toThrow();
      expect([...weight.dataSync()]).toEqual([1, 1, 1, 1]);
    });
  });
});
