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

Written by \`UPDATE_DOCS=1 npx vitest run test/opinfo\`; a test holds it. The third column says how many of PyTorch's own operator samples (its OpInfo table,
computed in float64) an operator is held against: values and gradients, in float32 (relative 1e-4, absolute 1e-5) and in float64 (1e-7). ${held.length} of the
${counts.size} operators that have samples agree in all of them; \`test/opinfo/adapters*.ts\` has each call in both languages.

Names are PyTorch's in camelCase, most of them also methods of \`Tensor\`; keyword arguments are one options object. Indices and counts are int32.

Functions that create tensors take \`{ dtype, device, requiresGrad }\`: \`zeros([2], { requiresGrad: true })\`, \`randnLike(x, { device: 'cpu' })\`. Other names, and \`requiresGrad\` for a dtype without gradients, are errors; \`asTensor\` has no \`requiresGrad\`, as in PyTorch.

There is no int64: \`x.long()\` and \`x.int()\` are both int32. As in PyTorch, \`x.size()\` is the shape, \`x.size(dim)\` one dimension, and \`x.numel()\` the number of elements;
\`x.stride()\`, \`x.storageOffset()\`, \`x.elementSize()\` and \`x.nbytes\` say how a tensor lies in memory. The functions of \`torch.nn.functional\` are exported with the others:
\`import { relu, crossEntropy } from 'tostatic'\`. A method that only PyTorch has, such as \`x.cuda()\` or \`x.numpy()\`, is a type error, and throws an error that says what to write.

Where PyTorch differs: \`sign\` and \`heaviside\` of NaN are NaN here, as in NumPy, and 0 in PyTorch, so that a lost value stays visible. Arguments beyond the last one, such as \`x.relu(2)\`, are type errors that
JavaScript ignores; PyTorch throws. A call doesn't count its arguments: JavaScript doesn't tell how many optional
ones a function takes, so each op would need that number, and \`xs.map(relu)\` passes three.
Results of ops are row-major, where PyTorch keeps the strides of transposed operands. \`expand\` to the same sizes, \`squeeze\` without a dimension of 1 and \`t\` of a vector return the tensor itself, in PyTorch a view of it. A tensor overwritten by a constant (\`fill_\`, \`zero_\`) passes no gradient on, in PyTorch one of 0. The gradient of \`div\` reads the quotient, which may not be written in place before backward; PyTorch's reads the dividend.
Piecewise constant functions (\`floor\`, \`round\`, \`sign\`, \`div\` with \`roundingMode\` …) give results that require no gradient; PyTorch gives them a gradient of 0. \`all\` and \`any\` of uint8 are bool, not uint8; \`bincount\` sums integer weights in their dtype, not in float64; \`hardtanh\`, \`relu6\` and \`interpolate\` of integers are float32. The gradient of \`ctcLoss\` is right for any input; PyTorch's assumes results of \`log_softmax\`. In half precision a function rounds only its result; PyTorch also rounds intermediate values.
\`bernoulli\` and \`multinomial\` don't read the tensors that they get, where PyTorch reads them and throws: probabilities above 1 act as 1, negative ones and NaN as 0; a row without a positive weight draws its first entry.
\`lstsq\` returns residuals, rank and singular values for every matrix; in PyTorch they depend on the driver. Columns of full \`U\` and \`V\` beyond the singular values have no gradient, in both.

| PyTorch | here | samples |
| --- | --- | ---: |
${rows.join('\n')}

## Not offered

| operators | why |
| --- | --- |
${[...refused, ...families].join('\n')}
`;
}
