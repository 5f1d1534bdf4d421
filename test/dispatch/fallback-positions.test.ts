import { expect, it, vi } from 'vitest';
import { ones, type Tensor, tensor, toStatic } from '../../src/index.ts';

it('a part that runs natively is named by the line of the user, also inside of a builtin', () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  let state = 1;
  let greed = 0.5;
  const random = () => {
    state = (state * 16807) % 2147483647;
    return state / 2147483647;
  };
  let place = [0.1, 0.2, 0.3];
  const replay: { readonly place: number[]; readonly gain: number }[] = [];
  const f = toStatic(
    (x: Tensor) => {
      const explores = random() < greed;
      const action = explores ? Math.floor(random() * 2) : x.mul(tensor(place)).argmax().itemSync();
      const next = place.map((value, i) =>
        Math.tanh(value + (action === 0 ? 0.1 : -0.1) * (i + 1)),
      );
      replay.push({ place, gain: -Math.abs(place[0]!) });
      if (replay.length > 6) replay.shift();
      place = next;
      greed *= 0.95;
      if (replay.length < 4) return x;
      const batch = Array.from({ length: 4 }, () => replay[Math.floor(random() * replay.length)]!);
      const gains = tensor(batch.map(({ gain }) => gain));
      return tensor(batch.map((each) => each.place))
        .mul(x)
        .sum()
        .add(gains);
    },
    { dynamic: false },
  );
  for (let i = 0; i < 20; i++) f(ones([3]));
  const { fallbacks } = f.stats();
  expect(fallbacks.length).toBeGreaterThan(0);
  for (const { at } of fallbacks) expect(at?.file ?? '').toContain('fallback-positions.test.ts');
  expect(warn.mock.calls.flat().join('\n')).not.toMatch(/polyfills|tostatic:src/);
  warn.mockRestore();
});
