/* global uPlot */

import { drawBefore, drawLanes, drawPeak, drawPhases, laneHeight } from './drawing.js';
import {
  color,
  colorKey,
  element,
  exactBytes,
  formatChange,
  lastUpTo,
  lineColorName,
  roundBytes,
  unitFor,
} from './format.js';

const chartHeight = 420;

function peakOf({ before, points }) {
  return points.reduce((peak, [, allocated]) => Math.max(peak, allocated), before);
}

/** Milliseconds; events at the same moment stay in their order. */
function timeAxis(lines) {
  const places = lines.map(({ points }) => {
    let last = -1;
    return points.map(([at]) => {
      last = Math.max(at, last + 1e-6);
      return last;
    });
  });
  return { kind: 'time', end: Math.max(...lines.map(({ duration }) => duration)), places };
}

/** The line as bytes beside those that were there before it. */
function besideBefore(line) {
  const points = line.points.map(([at, allocated, ...rest]) => [
    at,
    allocated - line.before,
    ...rest,
  ]);
  return { ...line, before: 0, points };
}

/**
 * Lines of allocated bytes, op by op or over time. See report.ts for the form of the data. With a slider, one line at
 * a time: bytes beside what was allocated before, which no budget changes.
 */
export class Chart {
  constructor(place, { lines: given, opAxis, stops }, opNames) {
    const lines = stops ? given.map(besideBefore) : given;
    this.lines = lines;
    this.stops = stops;
    this.opNames = opNames;
    this.unit = unitFor(Math.max(...lines.map(peakOf)));
    this.shown = lines.map((_, index) => !stops || index === 0);
    this.axes = { time: timeAxis(lines) };
    if (opAxis) this.axes.ops = { kind: 'ops', end: opAxis.starts.at(-1), ...opAxis };
    this.axis = this.axes.ops ?? this.axes.time;
    this.tip = element('div', { class: 'tip' });
    this.frame = element('div', { class: 'frame', role: 'img', 'aria-label': this.description() });
    this.frame.append(this.tip);
    place.replaceChildren(this.controls(), this.frame);
    this.draw();
  }

  description() {
    const peaks = this.lines.map((line) => `${line.name} peaks at ${roundBytes(peakOf(line))}`);
    return `Allocated bytes: ${peaks.join(', ')}`;
  }

  controls() {
    if (this.stops) return element('div', { class: 'controls' }, this.slider(), this.axisButtons());
    const lineButtons = this.lines.map((line, index) => {
      const peak = element('b', {}, `peak ${roundBytes(peakOf(line))}`);
      const attributes = { class: 'line', 'aria-pressed': 'true' };
      const button = element('button', attributes, colorKey(index), line.name, peak);
      button.addEventListener('click', () => {
        this.shown[index] = !this.shown[index];
        button.setAttribute('aria-pressed', String(this.shown[index]));
        this.draw();
      });
      return button;
    });
    return element('div', { class: 'controls' }, ...lineButtons, this.axisButtons());
  }

  /** Shows one line at a time. */
  slider() {
    const last = String(this.lines.length - 1);
    const attributes = { type: 'range', min: '0', max: last, value: '0', 'aria-label': 'budget' };
    const input = element('input', attributes);
    const caption = element('output', {}, this.stops[0]);
    input.addEventListener('input', () => {
      const index = Number(input.value);
      this.shown = this.lines.map((_, line) => line === index);
      caption.textContent = this.stops[index];
      this.draw();
    });
    return element('label', { class: 'slider' }, input, caption);
  }

  axisButtons() {
    const choices = [
      ['ops', 'op by op', 'The same op of each line is at the same place'],
      ['time', 'over time', 'Milliseconds since the start'],
    ];
    const possible = choices.filter(([kind]) => this.axes[kind]);
    // One choice is none.
    if (possible.length < 2) return '';
    const buttons = possible.map(([kind, label, title]) => {
      const pressed = String(this.axis.kind === kind);
      const button = element('button', { 'aria-pressed': pressed, title }, label);
      button.addEventListener('click', () => {
        this.axis = this.axes[kind];
        for (const other of buttons) other.setAttribute('aria-pressed', String(other === button));
        this.draw();
      });
      return button;
    });
    return element('span', { class: 'axes' }, ...buttons);
  }

  draw() {
    this.plot?.destroy();
    this.plot = null;
    this.tip.style.display = 'none';
    const data = this.data();
    this.plot = new uPlot(this.options(), data, this.frame);
  }

  resize() {
    this.plot.setSize({ width: this.frame.clientWidth, height: chartHeight });
  }

  /** One x for every event of any line; between its own events a line keeps its value. */
  data() {
    const { end, places } = this.axis;
    this.xs = [...new Set([0, ...places.flat(), end])].sort((a, b) => a - b);
    this.pointAt = places.map((place) => this.xs.map((x) => lastUpTo(place, x)));
    const held = this.lines.map((line, index) =>
      this.pointAt[index].map((point) => this.allocatedAt(line, point) / this.unit.bytes),
    );
    return [this.xs, ...held];
  }

  /** One step at a time has all of the width: a first slow one would leave none to the others. */
  end(max) {
    if (!this.stops || this.axis.kind !== 'time') return max;
    const [shown] = this.lines.filter((_, index) => this.shown[index]);
    return Math.min(max, shown.duration);
  }

  /** The same scale for all stops of a slider. */
  top(max) {
    return this.stops ? Math.max(...this.lines.map(peakOf)) / this.unit.bytes : max;
  }

  allocatedAt(line, point) {
    return point < 0 ? line.before : line.points[point][1];
  }

  options() {
    const byTime = this.axis.kind === 'time';
    const lanes = byTime ? this.shown.filter(Boolean).length : 1;
    return {
      width: this.frame.clientWidth,
      height: chartHeight,
      padding: [lanes * laneHeight + 8, 8, 0, 0],
      legend: { show: false },
      cursor: {
        y: false,
        dataIdx: (_, __, ___, x) => this.indexAt(x),
        points: { size: 8, width: 2, fill: color('--page') },
      },
      scales: {
        x: { time: false, range: (_, min, max) => [min, this.end(max)] },
        y: { range: (_, __, max) => [0, this.top(max) * 1.06] },
      },
      series: [{}, ...this.lines.map((_, index) => this.series(index, byTime))],
      axes: this.scaleLabels(byTime),
      hooks: {
        drawClear: [(plot) => this.drawBehind(plot)],
        draw: [(plot) => this.drawPeaks(plot)],
        setCursor: [(plot) => this.showTip(plot)],
      },
    };
  }

  series(index, byTime) {
    return {
      label: this.lines[index].name,
      show: this.shown[index],
      stroke: color(lineColorName(index)),
      // Op by op, where lines coincide, the earlier ones show as a border of the last.
      width: byTime ? 2 : 2 + 1.75 * (this.lines.length - 1 - index),
      paths: uPlot.paths.stepped({ align: 1 }),
      points: { show: false },
    };
  }

  scaleLabels(byTime) {
    const common = { stroke: color('--soft'), font: '12px system-ui, sans-serif' };
    const rule = { stroke: color('--grid'), width: 1 };
    const below = byTime
      ? { values: (_, splits) => splits.map((value) => `${value} ms`) }
      : this.opLabels();
    return [
      { ...common, grid: { show: false }, ticks: rule, ...below },
      {
        ...common,
        grid: rule,
        ticks: { show: false },
        size: 72,
        values: (_, splits) => splits.map((value) => `${value} ${this.unit.name}`),
      },
    ];
  }

  /** The ops' names, as long as they have room. */
  opLabels() {
    const { slots } = this.axes.ops;
    const nameAt = new Map(slots.map(([op, middle]) => [middle, this.opNames[op]]));
    return {
      splits: ({ scales, over }) => {
        const middles = slots.map(([, middle]) => middle);
        const visible = middles.filter((x) => x >= scales.x.min && x <= scales.x.max);
        const gaps = visible.slice(1).map((x, i) => x - visible[i]);
        const pixels = over.clientWidth / (scales.x.max - scales.x.min);
        return Math.min(...gaps) * pixels < 11 ? [] : visible;
      },
      values: (_, splits) => splits.map((x) => nameAt.get(x)),
      rotate: -55,
      size: 112,
      font: '11px ui-monospace, Menlo, Consolas, monospace',
    };
  }

  drawBehind(plot) {
    if (this.axis.kind === 'ops') {
      const labels = this.lines[0].phases.map(([label]) => label);
      drawPhases(plot, labels, this.axis.starts);
    } else {
      const all = this.lines.map((line, index) => ({ line, index }));
      const shown = all.filter(({ index }) => this.shown[index]);
      drawLanes(plot, shown);
    }
  }

  drawPeaks(plot) {
    // After the grid, which would run through the label.
    const [{ before }] = this.lines;
    const isAlike = !this.stops && this.lines.every((line) => line.before === before);
    if (isAlike) drawBefore(plot, before, this.unit);
    this.lines.forEach((line, index) => {
      const peak = peakOf(line);
      const point = line.points.findIndex(([, allocated]) => allocated === peak);
      if (point < 0 || !this.shown[index]) return;
      const place = [this.axis.places[index][point], peak / this.unit.bytes];
      drawPeak(plot, place, lineColorName(index));
    });
  }

  indexAt(x) {
    return Math.max(0, lastUpTo(this.xs, x));
  }

  showTip(plot) {
    const { left } = plot.cursor;
    if (!(left >= 0)) {
      this.tip.style.display = 'none';
      return;
    }
    this.tip.replaceChildren(this.tipTable(plot.posToVal(left, 'x')));
    this.tip.style.display = 'block';
    const { offsetLeft, offsetTop, clientHeight } = plot.over;
    const { offsetWidth, offsetHeight } = this.tip;
    const [toLeft, toRight] = [offsetLeft + left - offsetWidth - 16, offsetLeft + left + 16];
    const fits = toRight + offsetWidth <= this.frame.clientWidth;
    this.tip.style.left = `${fits ? toRight : Math.max(0, toLeft)}px`;
    // At the bottom, where lines that never reach 0 leave room.
    this.tip.style.top = `${offsetTop + clientHeight - offsetHeight - 8}px`;
  }

  /** What happened last to each line. */
  tipTable(x) {
    const rows = this.lines.flatMap((line, index) => {
      if (!this.shown[index]) return [];
      const point = this.pointAt[index][this.indexAt(x)];
      const [, , change, op] = line.points[point] ?? [];
      return element(
        'tr',
        {},
        element('th', {}, colorKey(index), line.name),
        element('td', {}, exactBytes(this.allocatedAt(line, point))),
        element('td', {}, change === undefined ? '' : formatChange(change)),
        element('td', { class: 'op' }, op === undefined ? '' : this.opNames[op] || '–'),
      );
    });
    return element('table', {}, element('caption', {}, this.placeName(x)), ...rows);
  }

  placeName(x) {
    if (this.axis.kind === 'time') return `${x.toFixed(3)} ms`;
    const { phases } = this.lines[0];
    const phase = Math.min(lastUpTo(this.axis.starts, x), phases.length - 1);
    return phases[Math.max(0, phase)][0];
  }
}
