/** Fused groups over one memory that has several names: views among the parts, results, and writes by each of them. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { withCaptureSession } from '../../src/1-capture/capture.ts';
import { toStatic } from '../../src/index.ts';
import { compareWorlds } from '../generated/compare-worlds.ts';
import { runs } from '../generated/runs.ts';
import { values, type World } from '../trace/same-as-eager.ts';

const name = fc.constantFrom('a', 'b', 'c');
const line = (strings: TemplateStringsArray, ...names: fc.Arbitrary<string>[]) =>
  fc.tuple(...names).map((given) => String.raw({ raw: strings }, ...given));

const statement = fc.oneof(
  line`${name} = ${name}.detach();`,
  line`${name} = ${name}.reshape([6]).reshape([2, 3]);`,
  line`${name} = ${name}.mul(${name}).add(1);`,
  line`${name}.mul_(2);`,
  line`${name}.add_(${name});`,
  line`keep.push(${name});`,
  line`keep.push(${name}.softmax(1).mul(${name}));`,
  line`keep.push(${name}.mul(${name}).mul(${name}).sum(1));`,
  line`keep.push(${name}.mul(${name}).add(${name}));`,
);

const programs = fc.array(statement, { minLength: 3, maxLength: 12 });

it('programs with several names of one memory do captured what they do eagerly', () => {
  let fused = 0;
  const property = fc.property(programs, (lines) => {
    const text = `return (x) => {
      const keep = [];
      let a = x.exp(), b = a.detach(), c = b.detach();
      ${lines.join('\n      ')}
      return [keep, a, b, c];
    };`;
    const make = (): World => ({
      fn: new Function(text)() as World['fn'],
      args: (call) => [values([2, 3], call)],
    });
    compareWorlds(make, 2, { options: { check: 2 } });
    const captured = toStatic(make().fn);
    captured(values([2, 3]));
    const { fusePointwise, fuseRows } = captured.programs()[0]!.stages!.passes;
    if ((fusePointwise?.applied ?? 0) + (fuseRows?.applied ?? 0) > 0) fused++;
  });
  withCaptureSession(() => fc.assert(property, runs(40)));
  expect(fused).toBeGreaterThan(15);
});
