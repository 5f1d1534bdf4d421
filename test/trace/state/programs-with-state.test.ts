/** Functions that keep state outside, changed by each call and read by the next, and what others see of it. */

import type { Tensor } from '../../../src/index.ts';
import { expectStatesAsEager, type StatefulFunctions } from './stateful-functions.ts';

// biome-ignore-start lint: plain old ways of writing are what is tested.
const cases: StatefulFunctions = {
  counterClosure: () => {
    let n = 0;
    const hist: number[] = [];
    return {
      fn: (x, k) => {
        n += k;
        hist.push(n);
        if (hist.length > 2) hist.shift();
        return x.mul(n);
      },
      state: () => [n, hist],
    };
  },
  memoMap: () => {
    const m = new Map<string, Tensor>();
    let hits = 0;
    return {
      fn: (x, k) => {
        const key = `${k % 2}-${x.shape}`;
        let v = m.get(key);
        if (!v) {
          v = x.add(k);
          m.set(key, v);
        } else hits++;
        return v.mul(2);
      },
      state: () => [hits, [...m.keys()]],
    };
  },
  lru: () => {
    const m = new Map<number, number>();
    return {
      fn: (x, k) => {
        m.delete(k % 3);
        m.set(k % 3, k);
        if (m.size > 2) m.delete(m.keys().next().value!);
        return x.mul([...m.values()].reduce((a, b) => a + b, 0));
      },
      state: () => [...m],
    };
  },
  objCfg: () => {
    const cfg: any = { a: { b: 1 }, list: [1, 2] };
    return {
      fn: (x, k) => {
        cfg.a.b += k;
        cfg.list[k % 2] = k;
        if (k === 3) delete cfg.a.z;
        else cfg.a.z = k;
        cfg['d' + (k % 2)] = k;
        return x.mul(cfg.a.b).add(cfg.list[0]);
      },
      state: () => cfg,
    };
  },
  classState: () => {
    class Ema {
      v = 0;
      static n = 0;
      #h: number[] = [];
      get last() {
        return this.#h.at(-1);
      }
      up(x: number) {
        this.v = 0.9 * this.v + 0.1 * x;
        this.#h.push(this.v);
        Ema.n++;
        return this;
      }
    }
    const e = new Ema();
    return {
      fn: (x, k) => {
        e.up(k).up(k + 1);
        return x.mul(e.v).add(e.last!);
      },
      state: () => [e.v, e.last, Ema.n],
    };
  },
  genState: () => {
    function* ids() {
      let i = 0;
      for (;;) yield i++;
    }
    const g = ids();
    return {
      fn: (x, k) => {
        const a = g.next().value as number;
        return x.mul(a + k);
      },
      state: () => g.next().value,
    };
  },
  throwMid: () => {
    const log: string[] = [];
    return {
      fn: (x, k) => {
        const y = x.mul(2);
        log.push(`a${k}`);
        try {
          if (k % 2) throw new RangeError('odd ' + k);
          log.push('even');
        } catch (e) {
          log.push((e as Error).message);
          return y.add(1);
        } finally {
          log.push('fin');
        }
        return y;
      },
      state: () => log,
    };
  },
  throwOut: () => {
    const s = { n: 0 };
    return {
      fn: (x, k) => {
        s.n++;
        const y = x.add(s.n);
        if (k === 2) throw new TypeError('two');
        s.n += 10;
        return y;
      },
      state: () => s,
    };
  },
  typedBuf: () => {
    const b = new Float32Array(4);
    return {
      fn: (x, k) => {
        b[k % 4]! += k;
        b.set([k], 3);
        return x.mul(b[0]! + b[3]!);
      },
      state: () => [...b],
    };
  },
  stringAcc: () => {
    let csv = 'step,loss\n';
    return {
      fn: (x, k) => {
        csv += `${k},${(k / 3).toFixed(3)}\n`;
        return x.mul(csv.length);
      },
      state: () => csv,
    };
  },
  sortedTop: () => {
    const top: { s: number; id: number }[] = [];
    return {
      fn: (x, k) => {
        top.push({ s: (k * 7) % 5, id: k });
        top.sort((a, b) => b.s - a.s || a.id - b.id);
        top.length = Math.min(top.length, 3);
        return x.add(top[0]!.s);
      },
      state: () => top,
    };
  },
  setOps: () => {
    const seen = new Set<number>();
    return {
      fn: (x, k) => {
        const was = seen.has(k % 3);
        seen.add(k % 3);
        return was ? x.mul(seen.size) : x.sub(seen.size);
      },
      state: () => [...seen],
    };
  },
  dateless: () => {
    const o = { t: [] as number[] };
    return {
      fn: (x, k) => {
        o.t = [...o.t, k].slice(-3);
        const [a, ...r] = o.t;
        return x.mul(a!).add(r.length);
      },
      state: () => o,
    };
  },
  symbolsW: () => {
    const k1 = Symbol('m');
    const o: any = {};
    return {
      fn: (x, k) => {
        o[k1] = (o[k1] ?? 0) + k;
        return x.mul(o[k1]);
      },
      state: () => o[k1],
    };
  },
  getters: () => {
    const o = {
      _v: 1,
      get v() {
        return this._v++;
      },
      set v(n) {
        this._v = n * 2;
      },
    };
    return {
      fn: (x, k) => {
        const a = o.v;
        o.v = k;
        return x.mul(a).add(o.v);
      },
      state: () => o._v,
    };
  },
  weakm: () => {
    const w = new WeakMap<object, number>();
    const keys = [{}, {}];
    return {
      fn: (x, k) => {
        const key = keys[k % 2]!;
        w.set(key, (w.get(key) ?? 0) + 1);
        return x.mul(w.get(key)!);
      },
      state: () => keys.map((k) => w.get(k)),
    };
  },
  nested: () => {
    const tree: any = { v: 0, c: [] };
    return {
      fn: (x, k) => {
        let at = tree;
        for (let i = 0; i < k % 3; i++) {
          at.c[0] ??= { v: 0, c: [] };
          at = at.c[0];
        }
        at.v += k;
        const sum = (t: any): number => t.v + t.c.reduce((a: number, c: any) => a + sum(c), 0);
        return x.mul(sum(tree));
      },
      state: () => tree,
    };
  },
  frozenCfg: () => {
    const c = Object.freeze({ lr: 0.1, s: Object.freeze([1, 2]) });
    let l = 0;
    return {
      fn: (x, k) => {
        l = c.lr * k + c.s[k % 2]!;
        const c2 = { ...c, lr: l };
        return x.mul(c2.lr);
      },
      state: () => l,
    };
  },
  queue: () => {
    const q: Tensor[] = [];
    return {
      fn: (x, k) => {
        q.push(x.mul(k));
        while (q.length > 2) q.shift();
        return q.reduce((a, b) => a.add(b));
      },
      state: () => q.map((t) => String(t)),
    };
  },
  linked: () => {
    type N = { v: number; n: N | null };
    let head: N | null = null;
    return {
      fn: (x, k) => {
        head = { v: k, n: head };
        let s = 0;
        for (let p: N | null = head; p; p = p.n) s += p.v;
        if (s > 12 && head.n) head.n = null;
        return x.mul(s);
      },
      state: () => head,
    };
  },
  arrHoles: () => {
    const a: any[] = [];
    return {
      fn: (x, k) => {
        a[k] = k;
        a.length = Math.max(a.length, 2);
        return x.mul(a.filter(() => true).length).add(a.indexOf(k));
      },
      state: () => [a, Object.keys(a)],
    };
  },
  bigCnt: () => {
    let b = 0n;
    return {
      fn: (x, k) => {
        b = (b << 2n) | BigInt(k);
        return x.mul(Number(b % 7n));
      },
      state: () => String(b),
    };
  },
  rngLcg: () => {
    let s = 12345;
    const r = () => (s = (s * 1103515245 + 12345) % 2147483648) / 2147483648;
    return {
      fn: (x, k) => {
        const idx = [0, 1, 2].sort(() => r() - 0.5);
        return x.mul(idx[0]! + k).add(r());
      },
      state: () => s,
    };
  },
};
// biome-ignore-end lint: see above.

expectStatesAsEager(cases);
