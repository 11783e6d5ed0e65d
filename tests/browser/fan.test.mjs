// The fan page in a real browser. Environment:
//   SCREE_MAKE_FAN    executable that writes the pages of make_fan.cpp into a directory
//   SCREE_MODELS      folder of the models
//   SCREE_FAN_DIR     where the pages go
//   and that of pages.mjs
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {readFileSync, statSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pageTests, webgl} from './pages.mjs';

const directory = resolve(process.env.SCREE_FAN_DIR ?? 'fans');
const fan = (name) => join(directory, `${name}.html`);
const drawn = (page) => page.waitForFunction(() => window.scree.plot.drawn === window.scree.fan.count);
const pageTest = pageTests({
  viewport: {width: 1000, height: 700},
  args: webgl,
  prepare: () => execFileSync(process.env.SCREE_MAKE_FAN, [directory, process.env.SCREE_MODELS], {stdio: 'inherit'}),
  ready: drawn,
});

// The number of the chosen branch.
const chosen = (page) => page.evaluate(() => window.scree.fan.numbers[window.scree.selected]);
const choose = async (page, number) => {
  await page.fill('#branch', String(number));
  await page.dispatchEvent('#branch', 'change');
};
const chooseCoordinate = (page, c) => page.selectOption('#coordinate', String(c));
const seek = (page, t) => page.evaluate((time) => window.scree.player.seek(time), t);
const rows = (page, selector) => page.locator(`${selector} tbody tr`)
  .evaluateAll((all) => all.map((row) => Array.from(row.cells, (c) => c.textContent)));
// Colours and a checksum of the branches alone.
const lines = (page) => page.evaluate(() => {
  const {layer} = window.scree.plot;
  const pixels = new Uint32Array(layer.getContext('2d').getImageData(0, 0, layer.width, layer.height).data.buffer);
  let hash = 0, ink = 0;
  for (const pixel of pixels) {
    hash = (Math.imul(hash, 31) + pixel) | 0;
    if (pixel !== 0) ink += 1;
  }
  return {colours: new Set(pixels).size, hash, ink};
});
// Place on the page of a value of the plot.
const place = (page, t, value) => page.evaluate(([time, v]) => {
  const {plot} = window.scree.plot, box = plot.over.getBoundingClientRect();
  return [box.left + plot.valToPos(time, 'x'), box.top + plot.valToPos(v, 'y')];
}, [t, value]);

pageTest('the header names branches, split, failures and time; the file stays small', fan('fan1000'), async (page) => {
  assert.equal(await page.textContent('#title'), 'A box falls flat and rocks');
  // It falls 0.4 m: sqrt(0.8 / 9.81) s.
  assert.match(await page.textContent('#subtitle'),
               /^box-planar \u00b7 1000 branches \u00b7 first split at 0\.285569 s \u00b7 \d+ clusters \u00b7 2 failed \u00b7 computed in 12\.34 s$/);
  assert.ok(await page.isHidden('#banner'));
  assert.ok(statSync(fan('fan1000')).size < 5_700_000, 'data of at most 5 MB and the page itself');
  const notes = await page.textContent('#notes');
  assert.match(notes, /every \d+(st|nd|rd|th) of 601 recorded rows/);
  assert.match(notes, /16 bits per coordinate.*: base\.angle within \d\.\de-\d rad\./);
});

pageTest('a thousand branches are lines in several colours; another coordinate is another picture', fan('fan1000'), async (page) => {
  assert.deepEqual(await page.locator('#coordinate optgroup').evaluateAll((all) => all.map((g) => [g.label, g.children.length])),
                   [['Positions', 3], ['Velocities', 3]]);
  const x = await lines(page);
  assert.ok(x.colours > 500, `${x.colours} colours`);
  await chooseCoordinate(page, 5);
  await drawn(page);
  assert.notEqual((await lines(page)).hash, x.hash);
  assert.equal(await page.textContent('#end-head'), 'base.w [rad/s] at the end');
});

pageTest('quantiles are in order and those of the page belong to its lines', fan('fan1000'), async (page) => {
  const found = await page.evaluate(() => {
    const {fan: f} = window.scree;
    let wrong = 0, far = 0;
    for (let c = 0; c < 6; ++c) {
      const q = f.quantiles(c), {low, high} = f.header.coordinates[c];
      for (let row = 0; row < f.rows; ++row) {
        for (let p = 1; p < 5; ++p) if (q[p][row] < q[p - 1][row]) wrong += 1;
        // All branches are on the page: the quantile of the lines, up to half a code and float32.
        const values = Array.from({length: f.count}, (_, i) => f.value(c, i, row)).filter((v) => !Number.isNaN(v)).sort((a, b) => a - b);
        const at = 0.25 * (values.length - 1), k = Math.floor(at);
        const expected = values[k] + (at - k) * (values[Math.min(k + 1, values.length - 1)] - values[k]);
        if (Math.abs(q[1][row] - expected) > 0.51 * (high - low) / 65534 + 1e-6 * Math.max(Math.abs(low), Math.abs(high))) far += 1;
      }
    }
    return {wrong, far};
  });
  assert.deepEqual(found, {wrong: 0, far: 0});
});

pageTest('a click in the plot picks the nearest branch and the time', fan('fan1000'), async (page) => {
  await chooseCoordinate(page, 2);
  await drawn(page);
  // One that tips over stays at a quarter turn: the only branches there.
  const [x, y] = await place(page, 2, Math.PI / 2);
  await page.mouse.move(x, y + 3);
  assert.match(await page.textContent('#readout'), /branch \d+1\.571/);
  await page.mouse.click(x, y + 3);
  const value = await page.evaluate(() => window.scree.fan.valueAt(2, window.scree.selected, 2));
  assert.ok(Math.abs(value - Math.PI / 2) < 1e-3, `picked one at ${value}`);
  assert.ok(Math.abs(await page.evaluate(() => window.scree.player.time) - 2) < 0.01);
  assert.equal(Number(await page.inputValue('#branch')), await chosen(page));
});

pageTest('branches by number, one by one, at random, the median one, by cluster', fan('fan1000'), async (page) => {
  await choose(page, 321);
  assert.equal(await chosen(page), 321);
  await page.click('#next-branch');
  assert.equal(await chosen(page), 322);
  await page.keyboard.press(',');
  await page.keyboard.press(',');
  assert.equal(await chosen(page), 320);
  await choose(page, 999999);
  assert.equal(await chosen(page), 999);
  await page.click('#median');
  assert.equal(await chosen(page), await page.evaluate(() => window.scree.fan.header.typical));
  const seen = new Set();
  for (let k = 0; k < 6; ++k) {
    await page.click('#random');
    seen.add(await chosen(page));
  }
  assert.ok(seen.size > 1);
  for (const cluster of ['1', '3']) {
    await page.selectOption('#cluster', cluster);
    const expected = await page.evaluate((k) => window.scree.fan.header.clusters[k].representative, Number(cluster));
    assert.equal(await chosen(page), expected);
    assert.equal(await page.getAttribute(`#clusters tbody tr:nth-child(${Number(cluster) + 1})`, 'aria-selected'), 'true');
  }
});

pageTest('the 3-D view shows the chosen branch at the time', fan('fan1000'), async (page) => {
  const centre = () => page.evaluate(() => window.scree.view.bodies[0].position.toArray());
  for (const number of [10, 500]) {
    await choose(page, number);
    for (const t of [0.1, 0.6, 2.3]) {
      await seek(page, t);
      const [x, , z] = await centre();
      const expected = await page.evaluate((time) => [0, 1].map((c) => window.scree.fan.valueAt(c, window.scree.selected, time)), t);
      assert.ok(Math.abs(x - expected[0]) < 1e-6 && Math.abs(z - expected[1]) < 1e-6, `${number} at ${t}: ${[x, z]}, ${expected}`);
    }
  }
});

pageTest('all clusters at once: one translucent model each, in the colours of the plot', fan('fan1000'), async (page) => {
  assert.equal(await page.evaluate(() => window.scree.view.companionCount), 0);
  await page.keyboard.press('g');
  assert.equal(await page.getAttribute('#ghost', 'aria-pressed'), 'true');
  assert.equal(await page.evaluate(() => window.scree.view.companionCount), 8);
  await seek(page, 1.5);
  const places = await page.evaluate(() => window.scree.view.companions.map((g) => g.bodies[0].position.x));
  assert.ok(new Set(places.map((x) => x.toFixed(3))).size > 2, 'the fan in space');
  const colours = await page.evaluate(() => window.scree.view.companions.map((g) => g.meshes[0].material.color.getHexString()));
  assert.equal(new Set(colours).size, 8);
  await page.click('#ghost');
  assert.equal(await page.evaluate(() => window.scree.view.companionCount), 0);
});

pageTest('the table of clusters has shares that add up; a cluster can be hidden', fan('fan1000'), async (page) => {
  const table = await rows(page, '#clusters');
  const counts = table.map((row) => Number(/^(\d+) \(/.exec(row[1])[1]));
  assert.equal(counts.reduce((a, b) => a + b, 0), 1000);
  assert.deepEqual([...counts].sort((a, b) => b - a), counts);
  assert.match(table[0][2], /bottom/);
  const before = await lines(page);
  await page.click('#clusters tbody tr:first-child input');
  await page.waitForFunction((old) => window.scree.plot.drawn === window.scree.fan.count && window.scree.plot.layerKey !== old,
                             await page.evaluate(() => ''));
  await page.waitForTimeout(100);
  await drawn(page);
  assert.ok((await lines(page)).ink < before.ink, 'fewer lines');
});

pageTest('the first split: modes with counts, velocities before and after', fan('fan1000'), async (page) => {
  const modes = await rows(page, '#split-modes');
  assert.equal(modes.length, 3);
  assert.equal(modes.map((row) => Number(/^(\d+)/.exec(row[1])[1])).reduce((a, b) => a + b, 0), 1000);
  const velocities = await rows(page, '#split-velocities');
  assert.deepEqual(velocities.map((row) => row[0]), ['base.vx [m/s]', 'base.vz [m/s]', 'base.w [rad/s]']);
  assert.equal(velocities[1][1], '-2.801');  // sqrt(2 9.81 0.4) m/s
  await page.click('#split-text .link');
  assert.ok(Math.abs(await page.evaluate(() => window.scree.player.time) - Math.sqrt(0.8 / 9.81)) < 1e-12);
});

pageTest('impacts of the branch: a click goes there; marks on the timeline', fan('fan1000'), async (page) => {
  await choose(page, 321);
  const table = await rows(page, '#impacts');
  assert.equal(table.length, await page.evaluate(() => window.scree.fan.impactTotal(window.scree.selected)));
  assert.equal(table[0][0], '0.285569');
  assert.equal(table[0][1], '2');
  assert.equal(table[0][3], 'several');
  assert.equal(table[0][4], '3.935');  // 9.81 0.4 J and 0.15^2 / 2 J
  const marks = await page.getAttribute('#event-marks .impact', 'd');
  assert.equal(marks.split('M').length - 1, table.length);
  await page.locator('#impacts .link').last().click();
  assert.equal((await page.evaluate(() => window.scree.player.time)).toFixed(6), table.at(-1)[0]);
});

pageTest('a branch that failed stops in the plot, says why and stays at its last pose', fan('fan3'), async (page) => {
  assert.ok(await page.isHidden('#failure'));
  await page.click('#failures .link');
  assert.equal(await chosen(page), 1);
  assert.match(await page.textContent('#failure'), /^Branch 1 ended early, after 0\.\d+ s: 10000 events within one step/);
  const found = await page.evaluate(() => {
    const {fan: f, player, view} = window.scree;
    const end = f.time[f.reached[1] - 1];
    const at = (t) => { player.seek(t); return view.bodies[0].position.toArray(); };
    return {late: f.valueAt(0, 1, 2), last: at(end), after: at(2.5), colour: window.scree.plot.colour(1)};
  });
  assert.ok(Number.isNaN(found.late));
  assert.deepEqual(found.after, found.last);
  assert.equal(found.colour, await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--failed').trim()));
  assert.match(await page.textContent('#readout'), /branch 1\u2013/);
  assert.equal((await rows(page, '#failures')).length, 1);
});

pageTest('one branch', fan('fan1'), async (page) => {
  assert.match(await page.textContent('#subtitle'), /1 branch \u00b7 no split \u00b7 none failed/);
  assert.equal(await page.textContent('#split-text'), 'One branch has nothing to part from.');
  assert.ok(await page.isDisabled('#random'));
  assert.ok(await page.isHidden('#ghost'));
  assert.ok((await lines(page)).ink > 100);
});

pageTest('no split: says so', fan('no_split'), async (page) => {
  assert.match(await page.textContent('#subtitle'), /no split/);
  assert.match(await page.textContent('#split-text'), /^No split/);
  assert.ok(await page.isHidden('#split-tables'));
});

pageTest('one row', fan('one_row'), async (page) => {
  await page.keyboard.press(' ');
  assert.equal(await page.evaluate(() => window.scree.player.playing), false);
});

pageTest('bodies stand where the kinematics of the library puts them, for every joint type', fan('joints'), async (page) => {
  const exact = JSON.parse(readFileSync(join(directory, 'joints.json'), 'utf8'));
  const found = await page.evaluate(() => [0, 1].map((i) => Array.from(window.scree.fan.poses(i))));
  // 16 bits of ranges below 8: 6e-5 half a code; seven joints in a chain with arms of a few metres multiply it.
  let worst = 0;
  exact.forEach((branch, b) => branch.flat().forEach((pose, k) => {
    const own = found[b].slice(7 * k, 7 * k + 7);
    const sign = Math.sign(pose.slice(3).reduce((sum, x, i) => sum + x * own[3 + i], 0));
    pose.forEach((x, i) => { worst = Math.max(worst, Math.abs(own[i] * (i < 3 ? 1 : sign) - x)); });
  }));
  assert.ok(worst < 5e-3, `off by ${worst}`);
  assert.ok(worst > 0);
  assert.equal(await page.evaluate(() => window.injected), undefined);
  assert.match(await page.textContent('#title'), /^<\/script><script>/);
  assert.match(await page.textContent('#failures'), /<b>bold<\/b>/);
  assert.match(await page.textContent('#banner'), /interrupted/);
});

pageTest('keys: play, seek, theme; the number field keeps its own', fan('fan3'), async (page) => {
  await page.keyboard.press('End');
  assert.equal(await page.evaluate(() => window.scree.player.time), 2.5);
  await page.focus('#branch');
  await page.keyboard.press('Home');
  assert.equal(await page.evaluate(() => window.scree.player.time), 2.5);
  await page.click('#title');
  await page.focus('#theme');
  const before = await lines(page);
  await page.keyboard.press('d');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  await drawn(page);
  assert.notEqual((await lines(page)).hash, before.hash);
});

pageTest('zoom in time by dragging, out by a double click', fan('fan3'), async (page) => {
  await chooseCoordinate(page, 0);
  const range = () => page.evaluate(() => [window.scree.plot.plot.scales.x.min, window.scree.plot.plot.scales.x.max]);
  const full = await range();
  const [x0, y] = await place(page, 0.5, 0.05), [x1] = await place(page, 1, 0.05);
  const before = await chosen(page);
  await page.mouse.move(x0, y);
  await page.mouse.down();
  await page.mouse.move(x1, y, {steps: 4});
  await page.mouse.up();
  const [low, high] = await range();
  assert.ok(Math.abs(low - 0.5) < 0.02 && Math.abs(high - 1) < 0.02, `${low} to ${high}`);
  assert.equal(await chosen(page), before, 'a drag picks nothing');
  await page.mouse.dblclick((x0 + x1) / 2, y + 60);
  assert.deepEqual(await range(), full);
});

pageTest('readable on a phone and in the dark', fan('fan1000'), async (page) => {
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  for (const id of ['coordinate', 'branch', 'play', 'scrub', 'view', 'clusters']) assert.ok(await page.isVisible(`#${id}`), id);
}, {viewport: {width: 360, height: 640}, colorScheme: 'dark'});

pageTest('without WebGL the page says so; plots and tables work', fan('fan3'), async (page) => {
  assert.match(await page.textContent('#no-webgl'), /WebGL/);
  await choose(page, 2);
  assert.equal(await chosen(page), 2);
  assert.ok((await rows(page, '#impacts')).length > 0);
}, {
  mayLogErrors: true,  // three.js reports the missing context itself
  initScript: () => {
    const original = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function(type, ...rest) {
      return type.startsWith('webgl') ? null : original.call(this, type, ...rest);
    };
  },
});
