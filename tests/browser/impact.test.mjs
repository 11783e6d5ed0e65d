// The impact page in a real browser. Environment:
//   SCREE_CLI         the command line
//   SCREE_EXAMPLES    folder of the example scenes
//   SCREE_IMPACT_DIR  where the pages go
//   and that of pages.mjs
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {mkdirSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pageTests} from './pages.mjs';

const directory = resolve(process.env.SCREE_IMPACT_DIR ?? 'impacts');
const page = (name) => join(directory, `${name}.html`);
const pageTest = pageTests({
  viewport: {width: 1000, height: 900},
  args: ['--disable-gpu'],
  prepare: () => {
    mkdirSync(directory, {recursive: true});
    const make = (scene, ...options) => execFileSync(process.env.SCREE_CLI,
      ['impact', join(process.env.SCREE_EXAMPLES, `${scene}.toml`), ...options, '--json', '--html', page(scene)], {stdio: 'ignore'});
    make('block', '--samples', '2000', '--threads', '1');
    make('cradle5');
    make('compass');
    make('landing');
    make('matrices', '--samples', '500', '--threads', '1');
  },
});

const arrows = (tab, kind) => tab.$$eval(`#scene [data-arrow^="${kind}"]`, (list) => list.map((e) => e.getAttribute('d')));
const chooseLaw = (tab, law, rank = 0) => tab.evaluate(([wanted, k]) => {
  const matching = window.scree.shown.map((s, i) => [s.law, i]).filter(([l]) => l === wanted);
  const select = document.getElementById('outcome');
  select.value = String(matching[k][1]);
  select.dispatchEvent(new Event('change'));
}, [law, rank]);
const scrub = (tab, share) => tab.evaluate((s) => {
  const slider = document.getElementById('scrub');
  slider.value = String(s);
  slider.dispatchEvent(new Event('input', {bubbles: true}));
}, share);
const circles = (tab) => tab.$$eval('#scene circle.body', (list) => list.map((e) => Number(e.getAttribute('cx'))));

pageTest('another law has other arrows', page('block'), async (tab) => {
  await chooseLaw(tab, 'anitescu-potra');
  assert.deepEqual(await arrows(tab, 'after'), [], 'rest: no arrow');
  assert.equal((await arrows(tab, 'before')).length, 1);
  await chooseLaw(tab, 'sequential', 0);
  const first = await arrows(tab, 'after');
  assert.ok(first.length >= 2, 'an arrow and an arc');
  await chooseLaw(tab, 'sequential', 1);
  const second = await arrows(tab, 'after');
  assert.notDeepEqual(second, first);
  assert.equal(await tab.getAttribute('#outcomes tbody tr[aria-selected="true"] td', 'class'), null);
});

pageTest('planes have points, courses and marks; layers can be hidden', page('block'), async (tab) => {
  const drawn = () => tab.evaluate(() => window.scree.planes.map((p) => ({...p.drawn})));
  const all = await drawn();
  assert.equal(all.length, 3, 'one of normal velocities, one a contact');
  for (const plane of all) {
    assert.ok(plane.points >= 1 && plane.points <= 10000, `${plane.points} points`);
    assert.ok(plane.paths > 100, `${plane.paths} courses`);
    assert.ok(plane.marks >= 4, `${plane.marks} marks`);
  }
  assert.ok(all[0].points > 10);
  await tab.click('#plane-legend button:has-text("outcomes of samples")');
  for (const plane of await drawn()) assert.equal(plane.points, 0);
  await tab.hover('.plane canvas');
  assert.match(await tab.textContent('.plane .readout'), /vn A .* m\/s/);
});

pageTest('a click on a row of the table chooses its outcome', page('compass'), async (tab) => {
  await tab.click('#outcomes tbody tr:nth-child(2)');
  assert.equal(await tab.inputValue('#outcome'), '1');
  assert.equal(await tab.getAttribute('#outcomes tbody tr:nth-child(2)', 'aria-selected'), 'true');
  assert.ok((await tab.$$('#scene .link')).length >= 2);
});

pageTest('one ball of the cradle arrives, one leaves, the others stay', page('cradle5'), async (tab) => {
  await chooseLaw(tab, 'reflections');
  await scrub(tab, 0);
  const rest = await circles(tab);
  assert.equal(rest.length, 5);
  await scrub(tab, -0.8);
  const early = await circles(tab);
  await scrub(tab, 0.8);
  const late = await circles(tab);
  const moved = (a) => a.map((x, k) => Math.round(x - rest[k]));
  assert.ok(moved(early)[0] < -20);
  assert.deepEqual(moved(early).slice(1), [0, 0, 0, 0]);
  assert.deepEqual(moved(late).slice(0, 4), [0, 0, 0, 0]);
  assert.ok(moved(late)[4] > 20);
});

pageTest('play moves the time', page('cradle5'), async (tab) => {
  await tab.click('#play');
  await tab.waitForFunction(() => document.getElementById('clock').textContent.startsWith('+'));
  assert.equal(await tab.getAttribute('#play', 'aria-label'), 'Pause');
  await tab.click('#play');
  const stopped = await tab.textContent('#clock');
  await tab.waitForTimeout(150);
  assert.equal(await tab.textContent('#clock'), stopped);
});

pageTest('a scene in space turns with the pointer', page('landing'), async (tab) => {
  const faces = () => tab.$$eval('#scene path.body', (list) => list.map((e) => e.getAttribute('d')).join());
  const start = await faces();
  assert.notEqual(start, '');
  const box = await (await tab.$('#scene')).boundingBox();
  await tab.mouse.move(box.x + 200, box.y + 100);
  await tab.mouse.down();
  await tab.mouse.move(box.x + 300, box.y + 120);
  await tab.mouse.up();
  assert.notEqual(await faces(), start);
});

pageTest('matrices have planes and tables, no picture', page('matrices'), async (tab) => {
  assert.equal(await tab.isVisible('#picture'), false);
  assert.ok(await tab.isVisible('.plane canvas'));
  assert.ok((await tab.$$('#shares tbody tr')).length >= 1);
});

pageTest('dark and narrow', page('block'), async (tab) => {
  await tab.click('#theme');
  assert.equal(await tab.evaluate(() => document.documentElement.dataset.theme), 'dark');
  assert.equal(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
}, {viewport: {width: 390, height: 800}});
