import { describe, expect, it } from 'vitest';
import { memory, nn, randn, summary, type Tensor } from '../../src/index.ts';

class Net extends nn.Module {
  conv = new nn.Conv2d(1, 4, 3);
  norm = new nn.BatchNorm2d(4);
  head = new nn.Sequential(new nn.Flatten(), new nn.Linear(4 * 6 * 6, 10));

  override forward(x: Tensor): Tensor {
    return this.head.forward(this.norm.forward(this.conv.forward(x)).relu());
  }
}

describe('summary', () => {
  it('lists modules with shapes, parameters, bytes and FLOPs, and leaves the model as it was', () => {
    using net = new Net();
    using x = randn([2, 1, 8, 8]);
    const mean = [...net.norm.runningMean!.dataSync()];
    const before = memory.stats('cpu').allocated;
    const found = summary(net, x);
    expect(memory.stats('cpu').allocated).toBe(before);
    expect([...net.norm.runningMean!.dataSync()]).toEqual(mean);
    expect([net.training, net.norm.training]).toEqual([true, true]);
    expect(Object.hasOwn(net, 'forward')).toBe(false);

    const byName = Object.fromEntries(found.rows.map((row) => [row.name, row]));
    expect(byName.conv).toMatchObject({
      type: 'Conv2d',
      outputs: [[2, 4, 6, 6]],
      parameters: 4 * 9 + 4,
      stateBytes: 4 * (4 * 9 + 4),
      outputBytes: 4 * 2 * 4 * 36,
      calls: 1,
    });
    // Two per product and sum, and the bias.
    expect(byName.conv!.flops).toBe(2 * 9 * (2 * 4 * 36) + 2 * 4 * 36);
    expect(byName['head.1']).toMatchObject({ outputs: [[2, 10]], parameters: 1450 });
    expect(byName.norm!.stateBytes).toBe(4 * (4 * 4) + 4);
    expect(found.parameters).toBe(40 + 8 + 1450);
    expect(found.flops).toBe(found.rows.reduce((sum, { flops }) => sum + flops, 0));
    const text = String(found);
    expect(text).toMatch(/^layer +type +output +parameters +bytes +output bytes +FLOPs\n─+\n/);
    expect(text).toMatch(/\n {4}1 +Linear +\[2,10\] +1,450 +5\.7 KiB +80 B +[\d,]+\n/);
    expect(text).toMatch(/\n1,498 parameters in 5\.9 KiB, [\d,]+ FLOPs per forward$/);
  });

  it('counts the calls of a module that runs several times', () => {
    class Twice extends nn.Module {
      layer = new nn.Linear(3, 3);

      override forward(x: Tensor): Tensor {
        return this.layer.forward(this.layer.forward(x));
      }
    }
    using net = new Twice();
    using x = randn([2, 3]);
    const [, row] = summary(net, x).rows;
    expect(row).toMatchObject({ calls: 2, flops: 2 * (2 * 2 * 3 * 3 + 6) });
    expect(String(summary(net, x))).toContain('Linear ×2');
  });

  it('removes its hooks where forward throws', () => {
    using net = new Net();
    using x = randn([2, 3, 8, 8]);
    expect(() => summary(net, x)).toThrow('conv2d: the layer takes 1 channels, not 3');
    expect(Object.hasOwn(net.conv, 'forward')).toBe(false);
    expect(net.training).toBe(true);
  });
});
