import type { Frame } from '../../src/vm/bytecode/frame.ts';
import { activate } from '../../src/vm/frames/activation.ts';
import { lowerChecked } from '../lower/parse-function.ts';
import { type Example, show, World } from './world.ts';

type Call = (thisValue: unknown, args: readonly unknown[]) => unknown;

/** Each call's result, and what happened in which turn of the microtask queue. */
async function outcomeOf(example: Example, makeCall: (world: World) => Call): Promise<string> {
  const world = new World(example);
  const call = makeCall(world);
  const log = world.evaluate('log') as unknown[];
  const results: string[] = [];
  for (const list of example.calls ?? ['']) {
    const args = world.evaluate(`[${list}]`) as unknown[];
    const self = example.self === undefined ? undefined : world.evaluate(example.self);
    let settled = false;
    const ticks = (async () => {
      for (let i = 0; !settled; i++) {
        log.push(`turn ${i}`);
        await null;
      }
    })();
    try {
      results.push(show(await call(self, args)));
    } catch (error) {
      results.push(`throws ${error instanceof Error ? error.message : show(error)}`);
    }
    settled = true;
    await ticks;
  }
  return `${results.join('\n')}\n${log.map(show).join('\n')}`;
}

export const nativeTurns = (example: Example): Promise<string> =>
  outcomeOf(example, (world) => {
    const fn = world.evaluate(`(${example.fn})`) as (...args: unknown[]) => unknown;
    return (self, args) => Reflect.apply(fn, self, args);
  });

export const bytecodeTurns = (
  example: Example,
  runner: (frame: Frame) => unknown,
): Promise<string> =>
  outcomeOf(example, (world) => {
    const code = lowerChecked(example.fn, world.strict);
    const closure = { code, scope: world.scope, cells: [] };
    return (self, args) => runner(activate(closure, self, args));
  });
