import { Session } from 'node:inspector';
import { afterAll, expect, it, vi } from 'vitest';
import { ones, type Tensor, toStatic } from '../../src/index.ts';

// As in Bun and Deno: a session connects, and answers nothing while the caller waits.
const post = vi.spyOn(Session.prototype, 'post').mockImplementation(() => undefined);
afterAll(() => post.mockRestore());

it('an inspector that does not answer is none: functions run, and explain() says what to do', () => {
  const factor = 3;
  const f = toStatic((x: Tensor) => x.mul(factor));
  expect([...f(ones([2])).dataSync()]).toEqual([3, 3]);
  expect(f.stats().fallbacks).toHaveLength(1);
  expect(f.explain()).toContain('pass `scope: { factor }`');
  expect('__tostaticCapture' in globalThis).toBe(false);

  const scoped = toStatic((x: Tensor) => x.mul(factor), { scope: { factor } });
  expect([...scoped(ones([2])).dataSync()]).toEqual([3, 3]);
  expect(scoped.stats()).toMatchObject({ graphs: 1, fallbacks: [] });
});
