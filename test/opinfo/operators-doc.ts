/** The text of docs/operators.md. */

import { adapters } from './adapters.ts';
import { composed } from './composed.ts';
import { familiesNotOffered, notOffered } from './not-offered.ts';
import { readSamples, type Sample } from './samples.ts';

export const opinfo = new URL('data/opinfo.jsonl.gz', import.meta.url);

function countByOp(samples: readonly Sample[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { op } of samples) counts.set(op, (counts.get(op) ?? 0) + 1);
  return counts;
}

const cell = (text: string) => text.replaceAll('|', '\\|');

export function operatorsDocument(): string {
  const counts = countByOp(readSamples(opinfo));
  const calls = new Map(Object.entries(composed));
  for (const [name, { ours }] of Object.entries(adapters)) calls.set(name, ours);
  const held = Object.keys(adapters).filter((name) => counts.has(name));
  const rows = [...calls.keys()]
    .sort()
    .map((name) => `| \`${name}\` | \`${cell(calls.get(name)!)}\` | ${counts.get(name) ?? '–'} |`);
  const refused = Object.entries(notOffered).map(
    ([name, reason]) => `| \`${name}\` | ${cell(reason)} |`,
  );
  const families = familiesNotOffered.map(([name, reason]) => `| ${name} | ${cell(reason)} |`);
  return `# Operators, by PyTorch's names

Names are PyTorch's in camelCase; most operators are also methods of \`Tensor\`. Keyword arguments are one options object. The functions of \`torch.nn.functional\` are exported with the others:
\`import { relu, crossEntropy } from 'tostatic'\`. A method that only PyTorch has, such as \`x.cuda()\` or \`x.numpy()\`, is a type error, and throws an error that says what to write.

Functions that create tensors take \`{ dtype, device, requiresGrad }\`: \`zeros([2], { requiresGrad: true })\`, \`randnLike(x, { device: 'cpu' })\`. Other names, and \`requiresGrad\` for a dtype without gradients, are errors; \`asTensor\` has no \`requiresGrad\`, as in PyTorch.

There is no int64: \`x.long()\`, \`x.int()\`, indices and counts are int32. As in PyTorch, \`x.size()\` is the shape, \`x.size(dim)\` one dimension, and \`x.numel()\` the number of elements;
\`x.stride()\`, \`x.storageOffset()\`, \`x.elementSize()\` and \`x.nbytes\` describe a tensor's memory.

## Differences from PyTorch

- **NaN**: \`sign\` and \`heaviside\` of NaN are NaN, as in NumPy, so that a lost value stays visible; PyTorch returns 0.
- **Surplus arguments** of functions and methods, such as \`x.relu(2)\`, are type errors, but not counted at run time, since \`xs.map(relu)\` passes three; PyTorch throws.
- **Layouts**: results of ops are row-major; PyTorch keeps the strides of transposed operands. \`expand\` to the same sizes, \`squeeze\` without a dimension of 1 and \`t\` of a vector return the tensor itself; PyTorch returns a view.
- **Gradients**: piecewise constant functions (\`floor\`, \`round\`, \`sign\`, \`div\` with \`roundingMode\` …) return results that require no gradient; PyTorch gives them a gradient of 0. A tensor overwritten directly by a constant (\`fill_\`, \`zero_\`) passes no gradient on; PyTorch passes on 0, as happens here through a view. The gradient of \`div\` reads the quotient, which may not be written in place before backward; PyTorch's reads the dividend. The gradient of \`ctcLoss\` is right for any input; PyTorch's assumes results of \`log_softmax\`.
- **Dtypes**: \`all\` and \`any\` of uint8 are bool, not uint8; \`bincount\` sums integer weights in their dtype, not in float64; \`hardtanh\`, \`relu6\` and \`interpolate\` of integers are float32. In half precision a function rounds only its result; PyTorch also rounds intermediate values.
- **Random draws**: \`bernoulli\` and \`multinomial\` don't check the values of tensors: probabilities above 1 act as 1, negative ones and NaN as 0; a row without a positive weight draws its first entry. PyTorch throws.
- **Empty lists**: an empty list of dimensions reduces none, as in NumPy; in most reductions of PyTorch it means all of them.
- **Order**: \`embedding\` and \`embeddingBag\` take the weight first, then the indices.
- **\`lstsq\`** returns residuals, rank and singular values for every matrix; in PyTorch they depend on the driver. Columns of full \`U\` and \`V\` beyond the singular values have no gradient, in both.

## Table

*Samples* is the number of PyTorch's own samples of an operator (its OpInfo table, computed in float64) with which its values and gradients are compared, in float32 (relative 1e-4, absolute 1e-5) and in float64 (1e-7). ${held.length} of the
${counts.size} operators that have samples agree in all of them; \`test/opinfo/adapters*.ts\` has each call in both languages. \`UPDATE_DOCS=1 npx vitest run test/opinfo\` writes this page.

| PyTorch | here | samples |
| --- | --- | ---: |
${rows.join('\n')}

## Not offered

| operators | why |
| --- | --- |
${[...refused, ...families].join('\n')}
`;
}
