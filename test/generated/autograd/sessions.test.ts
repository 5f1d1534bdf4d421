import { expect, it } from 'vitest';
import { withCaptureSession } from '../../../src/1-capture/capture.ts';
import { type ToStaticOptions, toStatic } from '../../../src/index.ts';
import { print } from '../control/tree.ts';
import { comparable, runSession, type Session, sessionFrom } from './sessions.ts';

const { GENERATED_RUNS: wanted = '8', GENERATED_SEED: first = '0' } = process.env;
const modes: readonly ToStaticOptions[] = [{ capture: 'auto' }, { fullGraph: true }, {}];

/** Differences by design: null if there is one. */
function eagerly(session: Session): readonly string[] | null {
  const seen = runSession(session, (fn) => fn);
  const text = JSON.stringify(seen) + print(session.nodes);
  // Unreachable handles on the memory make a write throw until they are collected.
  if (text.includes('memory that several tensors show')) return null;
  // Backward of a checkpoint runs the function again, with what it reads then.
  if (text.includes('did different work')) return null;
  return seen === 'refused' ? null : seen;
}

it('what is differentiated under control flow has the gradients of eager execution', {
  timeout: 3_600_000,
}, () => {
  let compared = 0;
  withCaptureSession(() => {
    for (let seed = Number(first); seed < Number(first) + Number(wanted); seed++) {
      const session = sessionFrom(seed);
      const options = modes[seed % modes.length]!;
      const expected = eagerly(session);
      if (!expected) continue;
      const found = runSession(session, (fn) => {
        const captured = toStatic(fn, { strict: true, ...options });
        return (...args) => {
          const result = captured(...args);
          void captured.ready();
          return result;
        };
      });
      if (found === 'refused') continue;
      compared++;
      const how = `GENERATED_SEED=${seed} ${JSON.stringify({ options, ...session, nodes: null })}`;
      const [own, other] = comparable(found, expected);
      expect(own, `${how}\n${print(session.nodes)}`).toEqual(other);
    }
  });
  expect(compared).toBeGreaterThan(Number(wanted) / 2);
});
