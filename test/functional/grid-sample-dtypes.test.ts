import { expect, it } from 'vitest';
import { affineGrid, arange, gridSample, linspace, stack, zeros } from '../../src/index.ts';

it.each(['float16', 'bfloat16'] as const)(
  'gridSample finds the pixels of wide images in %s, as in float32 rounded once',
  (dtype) => {
    const x = arange(600).remainder(7).reshape([1, 1, 1, 600]).to(dtype);
    const along = linspace(-1, 1, 50);
    const grid = stack([along, zeros([50])], 1)
      .reshape([1, 1, 50, 2])
      .to(dtype);
    for (const mode of ['bilinear', 'nearest', 'bicubic'] as const) {
      const found = gridSample(x, grid, { mode });
      const expected = gridSample(x.float(), grid.float(), { mode }).to(dtype);
      expect([found.dtype, found.tolist()]).toEqual([dtype, expected.tolist()]);
    }
  },
);

it('gridSample says which images and volumes fit', () => {
  const [image, volume] = [zeros([1, 1, 2, 2]), zeros([1, 1, 2, 2, 2])];
  const grid = affineGrid(zeros([1, 3, 4]), [1, 1, 2, 2, 2]);
  expect(gridSample(volume, grid).shape).toEqual([1, 1, 2, 2, 2]);
  expect(() => gridSample(image, grid)).toThrow("image and grid don't fit");
  expect(() => affineGrid(zeros([1, 2, 3]), [1, 1, 2, 2, 2])).toThrow('[1, 3, 4]');
});
