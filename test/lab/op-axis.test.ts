import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { opAxis } from '../../src/lab/op-axis.ts';
import { timelineOf } from './timelines.ts';

const opsOf = (axis: ReturnType<typeof opAxis>) => axis!.slots.map(({ op }) => op);

describe('op axis', () => {
  it('puts the same op of each timeline at the same place', () => {
    const eager = timelineOf({
      forward: [
        ['conv2d', 8],
        ['add', 8],
        ['add', -8],
        ['pool', 2],
      ],
    });
    const planned = timelineOf({
      forward: [
        ['conv2d', 8],
        ['pool', 2],
      ],
    });
    const axis = opAxis([eager, planned])!;
    expect(opsOf(axis)).toEqual(['conv2d', 'add', 'pool']);
    expect(axis.places).toEqual([
      [1, 2.5, 3.5, 5],
      [1, 5],
    ]);
    expect(axis.slots.map(({ middle }) => middle)).toEqual([1, 3, 5]);
    expect(axis.starts).toEqual([0, 6]);
  });

  it('aligns phase by phase: a phase starts at one place for all', () => {
    const long = timelineOf({
      forward: [
        ['exp', 4],
        ['log', 4],
        ['sin', 4],
      ],
      backward: [['expGrad', 4]],
    });
    const short = timelineOf({ forward: [['exp', 4]], backward: [['expGrad', 4]] });
    const axis = opAxis([long, short])!;
    expect(axis.starts).toEqual([0, 6, 10]);
    expect(axis.places[1]).toEqual([1, 7]);
  });

  it('gives a phase without events some room', () => {
    const axis = opAxis([timelineOf({ forward: [], backward: [['exp', 4]] })])!;
    expect(axis.starts).toEqual([0, 4, 8]);
  });

  it('is impossible for timelines with other phases, or with points before the first', () => {
    const forward = timelineOf({ forward: [['exp', 4]] });
    expect(opAxis([forward, timelineOf({ backward: [['exp', 4]] })])).toBeNull();
    expect(opAxis([timelineOf({})])).toBeNull();
    const late = { ...forward, phases: [{ ...forward.phases[0]!, firstPoint: 1 }] };
    expect(opAxis([late])).toBeNull();
  });

  it('keeps the order of every timeline, whatever the ops', () => {
    const op = fc.constantFrom('a', 'b', 'c', 'd');
    const timeline = fc.array(op, { maxLength: 12 }).map((ops) => {
      return timelineOf({ forward: ops.map((name) => [name, 4] as const) });
    });
    fc.assert(
      fc.property(fc.array(timeline, { minLength: 1, maxLength: 4 }), (timelines) => {
        const axis = opAxis(timelines)!;
        timelines.forEach(({ points }, line) => {
          const places = axis.places[line]!;
          expect(places).toHaveLength(points.length);
          for (let i = 0; i < places.length; i++) {
            if (i > 0) expect(places[i]!).toBeGreaterThan(places[i - 1]!);
            expect(places[i]!).toBeGreaterThan(0);
            expect(places[i]!).toBeLessThan(axis.starts.at(-1)!);
          }
        });
      }),
    );
  });
});
