import { it } from 'vitest';
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { Mlp } from '../../../examples/workloads/mlp.ts';
import { loadProgram } from '../../../runtime/index.ts';
import { programParts } from '../../../runtime/save/loaded-program.ts';
import { noGrad, rand, save, seed, type Tensor, toStatic } from '../../../src/index.ts';
import { writeModule } from '../../../src/export/module/export-module.ts';

it('tries', async () => {
  seed(1);
  const network = new Mlp(64);
  network.eval();
  const program = toStatic((images: Tensor) => network.forward(images));
  const images = rand([2, 1, 28, 28]);
  const expected = noGrad(() => program(images));
  const loaded = await loadProgram(await save(program));
  const parts = programParts(loaded)!;
  const entries = parts.entries.map(({ saved, planned }) => ({ saved, planned: planned! }));
  const { text, bytes, launches, statements } = writeModule(parts, entries, 'x.bin');
  writeFileSync('/tmp/m.mjs', text);
  console.log(bytes, launches, statements, text.length, gzipSync(text, {level: 9}).length);
  const m = await import(`data:text/javascript,${encodeURIComponent(writeModule(parts, entries, null).text)}`);
  const model = await m.instantiate();
  const out = model.run(images.dataSync());
  console.log(out, expected.toString());
});
