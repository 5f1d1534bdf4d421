import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  memory,
  ones,
  type Tensor,
  type TraceModule,
  tensor,
  toStatic,
  traceLog,
} from '../../src/index.ts';
import { analyzeLines } from '../lab/analyze-lines.ts';
import { withSources } from '../source-process.ts';

function traced(body: () => void, modules?: readonly TraceModule[]): string[] {
  const lines: string[] = [];
  const stop = traceLog((line) => lines.push(line), modules ? { modules } : {});
  try {
    body();
  } finally {
    stop();
  }
  return lines;
}

const dispose = (...tensors: Tensor[]) => {
  for (const t of tensors) t.dispose();
};

describe('trace-log', () => {
  it('eager ops: device, operands by their names, results', () => {
    const lines = traced(() => {
      const [x, w] = [ones([2, 3]), ones([3, 4])];
      const y = x.matmul(w);
      y.add_(1);
      dispose(x, w, y);
    }, ['op']);
    expect(lines).toEqual([
      'Op(full), Place(cpu), inputs {}, outputs {out:float32[2,3]}',
      'Op(full), Place(cpu), inputs {}, outputs {out:float32[3,4]}',
      'Op(matmul), Place(cpu), inputs {a:float32[2,3], b:float32[3,4]}, outputs {out:float32[2,4]}',
      'Op(add_), Place(cpu), inputs {x:float32[2,4]}, outputs {out:float32[2,4]}',
    ]);
  });

  it('a strided operand that a kernel wants packed, and a tensor that moves, are transforms', () => {
    const lines = traced(() => {
      const x = ones([2, 3]);
      const [view, moved] = [x.transpose(0, 1), x.to('meta')];
      const y = view.cumsum(1);
      dispose(x, view, moved, y);
    }, ['transform']);
    expect(lines).toEqual([
      'Transform for to from {float32[2,3], contiguous, cpu} to {float32[2,3], contiguous, meta}',
      'Transform for cumsum from {float32[3,2], strided, cpu} to {float32[3,2], contiguous, cpu}',
    ]);
  });

  it('copies say their bytes', () => {
    const lines = traced(() => {
      const x = tensor([1, 2, 3]);
      x.dataSync();
      x.dispose();
    }, ['copy']);
    expect(lines).toEqual(['Copy 12 bytes from host to cpu', 'Copy 12 bytes from cpu to host']);
  });

  it('programs: values by number, and each that leaves its scope', () => {
    const f = toStatic((x: Tensor) => x.exp().matmul(x).sum(), { passes: { fuseRows: false } });
    const x = ones([2, 2]);
    f(x).dispose();
    const lines = traced(() => f(x).dispose(), ['op', 'scope']);
    expect(lines[0]).toMatch(/^START SOT_CALL_\d+$/);
    expect(lines.at(-1)).toBe(lines[0]?.replace('START', 'END'));
    expect(lines.slice(1, -1)).toEqual([
      'Op(exp), Place(cpu), inputs {%0:float32[2,2]}, outputs {%1:float32[2,2]}',
      'Op(matmul), Place(cpu), inputs {%1:float32[2,2], %0:float32[2,2]}, outputs {%2:float32[2,2]}',
      'Erase variable %1',
      'Erase variable %0',
      'Op(sum), Place(cpu), inputs {%2:float32[2,2]}, outputs {%3:float32[]}',
      'Erase variable %2',
    ]);
    x.dispose();
  });

  it('the memory analysis reads it between two marks', async () => {
    const lines = traced(() => {
      memory.mark('begin');
      const x = ones([16]);
      const y = x.add(1);
      dispose(x, y);
      memory.mark('end');
    });
    const summary = await analyzeLines(lines, { from: 'begin', to: 'end' });
    expect(summary).toMatchObject({
      allocatedBytes: 128,
      freedBytes: 128,
      remainingBytes: 0,
      maxBytes: 128,
    });
    expect(summary.malformed).toBe(0);
  });

  it('nothing is written afterwards, and unknown modules are refused', () => {
    const lines = traced(() => {});
    dispose(ones([2]));
    expect(lines).toEqual([]);
    expect(() => traceLog(() => {}, { modules: ['ops' as TraceModule] })).toThrow(
      /no such module[\s\S]*'op'/,
    );
  });

  it('TOSTATIC_TRACE writes on standard error from the start', () => {
    const index = new URL('../../src/index.ts', import.meta.url).href;
    const code = `import { ones } from '${index}'; ones([2]).neg(); console.log('done');`;
    const folder = fileURLToPath(new URL('../..', import.meta.url));
    const run = (modules: string) =>
      execFileSync(
        'sh',
        [
          '-c',
          '"$0" "$@" 2>&1',
          process.execPath,
          ...withSources,
          '--input-type=module',
          '-e',
          code,
        ],
        { cwd: folder, env: { ...process.env, TOSTATIC_TRACE: modules }, encoding: 'utf8' },
      );
    const text = run('op');
    expect(text).toContain('Op(neg), Place(cpu), inputs {x:float32[2]}, outputs {out:float32[2]}');
    expect(text).not.toContain('Alloc');
    expect(text).toContain('done');
  });
});
