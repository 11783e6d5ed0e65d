// The replay and study pages in a real browser. Environment:
//   SCREE_MAKE_REPLAY  executable that writes the pages of make_replay.cpp into a directory
//   SCREE_REPLAY_DIR   where the replays go
//   SCREE_REPLAY_HTML  instead of the generated main replay: one written by `scree sim --html` (optional)
//   and that of pages.mjs
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {join, resolve} from 'node:path';
import {pageTests, webgl} from './pages.mjs';

const directory = resolve(process.env.SCREE_REPLAY_DIR ?? 'replays');
const replay = (name) => join(directory, `${name}.html`);
const mainReplay = process.env.SCREE_REPLAY_HTML ?? replay('all_shapes');
const pageTest = pageTests({
  viewport: {width: 900, height: 600},
  args: webgl,
  prepare: () => execFileSync(process.env.SCREE_MAKE_REPLAY, [directory], {stdio: 'inherit'}),
});

// What the 3-D canvas shows now: distinct colours, a checksum, share of pixels like the corner's.
const picture = (page) => page.evaluate(() => {
  const canvas = document.getElementById('view');
  window.scree.view.render();  // in the same task as the read: WebGL drops the picture afterwards
  const copy = document.createElement('canvas');
  copy.width = canvas.width;
  copy.height = canvas.height;
  const context = copy.getContext('2d');
  context.drawImage(canvas, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, copy.width, copy.height).data.buffer);
  let hash = 0;
  let background = 0;
  for (const pixel of pixels) {
    hash = (Math.imul(hash, 31) + pixel) | 0;
    if (pixel === pixels[0]) background += 1;
  }
  return {colours: new Set(pixels).size, hash, background: background / pixels.length};
});

const withoutWebGL = () => {
  const original = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function(type, ...rest) {
    return type.startsWith('webgl') ? null : original.call(this, type, ...rest);
  };
};

const clock = (page) => page.evaluate(() => window.scree.player.time);
const setSlider = (page, share) => page.evaluate((s) => {
  const slider = document.getElementById('scrub');
  slider.value = String(Number(slider.min) + s * (Number(slider.max) - Number(slider.min)));
  slider.dispatchEvent(new Event('input', {bubbles: true}));
}, share);

pageTest('the canvas shows the model and changes when the time is scrubbed', mainReplay, async (page) => {
  const start = await picture(page);
  assert.ok(start.colours > 200, `${start.colours} colours`);
  assert.ok(start.background < 0.9, `${start.background} of the canvas is background`);
  await setSlider(page, 0.37);
  const later = await picture(page);
  assert.notEqual(later.hash, start.hash);
  await setSlider(page, 0);
  assert.equal((await picture(page)).hash, start.hash, 'the same time gives the same picture');
});

pageTest('a tiny robot fills the view in the colours of its mesh, its many points do not', replay('tiny_painted'), async (page) => {
  const shown = await page.evaluate(() => {
    const {view} = window.scree, canvas = document.getElementById('view');
    view.render();
    const copy = document.createElement('canvas');
    copy.width = canvas.width;
    copy.height = canvas.height;
    const context = copy.getContext('2d');
    context.drawImage(canvas, 0, 0);
    const {data} = context.getImageData(0, 0, copy.width, copy.height);
    const share = {red: 0, green: 0};
    for (let i = 0; i < data.length; i += 4) {
      const [r, g, b] = data.slice(i, i + 3);
      if (r > 1.8 * Math.max(g, b) && r > 60) share.red += 4 / data.length;
      if (g > 1.4 * Math.max(r, b) && g > 40) share.green += 4 / data.length;
    }
    return {...share, cell: view.cell, size: view.modelSize, idle: view.contacts.idle.visible};
  });
  assert.ok(shown.red > 0.01 && shown.green > 0.01, JSON.stringify(shown));
  assert.ok(shown.cell > 1e-6 && shown.cell < 1e-4 && shown.size < 3e-4, JSON.stringify(shown));
  assert.equal(shown.idle, false);
  assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /NaN|Infinity/);
  assert.match(await page.textContent('#notes'), /Of the 30\d contact points those that touch are drawn/);
});

pageTest('play moves the time, pause stops it, speed scales it', mainReplay, async (page) => {
  const label = () => page.textContent('#clock');
  const before = await label();
  await page.click('#play');
  await page.waitForFunction(() => window.scree.player.time > window.scree.player.first);
  assert.notEqual(await label(), before);
  assert.equal(await page.getAttribute('#play', 'aria-label'), 'Pause');
  await page.click('#play');
  const stopped = await clock(page);
  await page.waitForTimeout(200);
  assert.equal(await clock(page), stopped);

  // Driven by a clock of our own: what a slow machine draws does not matter.
  const advance = (speed) => page.evaluate((s) => {
    const {player} = window.scree;
    const select = document.getElementById('speed');
    select.value = s;
    select.dispatchEvent(new Event('change'));
    player.seek(player.first);
    player.play();
    const from = performance.now() + 1;
    player.tick(from);
    const t0 = player.time;
    player.tick(from + 50);
    player.pause();
    return player.time - t0;
  }, speed);
  for (const speed of ['0.1', '1', '4'])
    assert.ok(Math.abs(await advance(speed) - 0.05 * Number(speed)) < 1e-9, `speed ${speed}`);
});

pageTest('at the end playback stops, or starts again when looping', mainReplay, async (page) => {
  const finish = () => page.evaluate(() => {
    const {player} = window.scree;
    player.seek(player.end - 0.001);
    player.play();
    const now = performance.now() + 1;
    player.tick(now);
    player.tick(now + 20);
    const result = {playing: player.playing, time: player.time, first: player.first, end: player.end};
    player.pause();
    return result;
  });
  const once = await finish();
  assert.equal(once.playing, false);
  assert.equal(once.time, once.end);
  await page.click('#loop');
  const looped = await finish();
  assert.equal(looped.playing, true);
  assert.ok(looped.time < looped.first + 0.05);
});

pageTest('keys play, step and seek', mainReplay, async (page) => {
  const times = await page.evaluate(() => Array.from(window.scree.replay.frames.time));
  const last = times.length - 1;
  await page.keyboard.press('ArrowRight');
  assert.equal(await clock(page), times[1]);
  await page.keyboard.press('Shift+ArrowRight');
  assert.equal(await clock(page), times[11]);
  await page.keyboard.press('ArrowLeft');
  assert.equal(await clock(page), times[10]);
  await page.keyboard.press('End');
  assert.equal(await clock(page), times[last]);
  await page.focus('#scrub');  // the slider's own keys must not add to ours
  await page.keyboard.press('ArrowLeft');
  assert.equal(await clock(page), times[last - 1]);
  await page.keyboard.press('Home');
  assert.equal(await clock(page), times[0]);
  await page.keyboard.press(' ');
  assert.equal(await page.evaluate(() => window.scree.player.playing), true);
  await page.keyboard.press(' ');
  assert.equal(await page.evaluate(() => window.scree.player.playing), false);
});

pageTest('plots hold the data, draw it, follow the time and seek on click', mainReplay, async (page) => {
  const plots = await page.evaluate(() => Array.from(document.querySelectorAll('.plot canvas'), (canvas) => {
    const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    return new Set(pixels).size;
  }));
  assert.ok(plots.length >= 3, `${plots.length} plots`);
  for (const colours of plots) assert.ok(colours > 20, `a plot has ${colours} colours`);
  assert.ok(await page.evaluate(() => window.scree.seriesLength) > 50);
  assert.ok(await page.evaluate(() => window.scree.frameCount) > 50);

  const box = await page.locator('.plot .u-over').first().boundingBox();
  await page.mouse.click(box.x + 0.25 * box.width, box.y + 0.5 * box.height);
  const {time, first, end} = await page.evaluate(() => {
    const {player} = window.scree;
    return {time: player.time, first: player.first, end: player.end};
  });
  assert.ok(Math.abs((time - first) / (end - first) - 0.25) < 0.02, `seeked to ${time}`);
  const lines = await page.evaluate(() => Array.from(document.querySelectorAll('.plot .u-over'), (over) =>
    (over.querySelector('.now').getBoundingClientRect().left - over.getBoundingClientRect().left) / over.clientWidth));
  for (const x of lines) assert.ok(Math.abs(x - 0.25) < 0.02, `a time line stands at ${x}`);
});

pageTest('texts: title, decimation, settings, status', replay('all_shapes'), async (page) => {
  assert.equal(await page.textContent('#title'), 'Every shape, every joint');
  assert.match(await page.textContent('#subtitle'), /every 4th of 801 recorded rows/);
  assert.equal(await page.locator('#settings tr').count(), 4);
  for (const id of ['forces', 'contact-info']) assert.ok(await page.isHidden(`#${id}`), `${id} without contacts`);
  assert.match(await page.textContent('#settings'), /gravity.*-9\.81/s);
  assert.ok(await page.isHidden('#banner'));
  const unnamed = await page.evaluate(() => Array.from(document.querySelectorAll('button, select, input'))
    .filter((e) => !(e.getAttribute('aria-label') ?? (e.textContent || e.closest('label')?.textContent || '')).trim()).length);
  assert.equal(unnamed, 0, 'controls without a name');
});

pageTest('more joints than a plot takes are chosen by a picker', replay('all_shapes'), async (page) => {
  const buttons = page.locator('#plots section', {hasText: 'Joint angles'}).locator('.legend button');
  assert.equal(await buttons.count(), 8);
  const picker = page.locator('.picker:visible').first();
  await picker.locator('summary').click();
  await picker.getByLabel('right_joint5').check();
  assert.equal(await buttons.count(), 9);
});

pageTest('toggles change the picture, dark changes the page', replay('all_shapes'), async (page) => {
  let last = (await picture(page)).hash;
  for (const id of ['trail', 'frames', 'collision']) {
    await page.click(`#${id}`);
    assert.equal(await page.getAttribute(`#${id}`, 'aria-pressed'), 'true');
    const now = (await picture(page)).hash;
    assert.notEqual(now, last, id);
    last = now;
  }
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  await page.click('#theme');
  assert.notEqual(await background(), light);
  assert.notEqual((await picture(page)).hash, last);
  await page.keyboard.press('d');
  assert.equal(await background(), light);
});

// --- contact -------------------------------------------------------------------------------------------------------

const arrowCount = (page) => page.evaluate(() => window.scree.view.contacts?.shafts.count ?? -1);

pageTest('contacts: arrows where the frame has forces, none where it has none', replay('contact'), async (page) => {
  const counts = await page.evaluate(() => {
    const {first} = window.scree.replay.contact.contacts;
    return Array.from(first.slice(1), (end, k) => end - first[k]);
  });
  const times = await page.evaluate(() => Array.from(window.scree.replay.frames.time));
  assert.ok(counts.includes(0) && counts.includes(2));
  for (const [k, time] of times.entries()) {
    await page.evaluate((t) => window.scree.player.seek(t), time);
    assert.equal(await arrowCount(page), counts[k], `frame ${k}`);
    assert.equal(await page.evaluate(() => window.scree.view.contacts.touching.count), counts[k]);
    assert.equal(await page.evaluate(() => window.scree.view.contacts.idle.count), 4 - counts[k]);
  }
});

pageTest('contacts: an arrow is as long as the legend says and between frames in between', replay('contact'), async (page) => {
  assert.match(await page.textContent('#scale'), /Force arrows: 0\.1 m is 200 N/);
  const lengths = (t) => page.evaluate((time) => {
    window.scree.player.seek(time);
    const {shafts, heads, shown} = window.scree.view.contacts;
    const matrix = shafts.matrix.clone();
    const reach = (mesh, k) => { mesh.getMatrixAt(k, matrix); return Math.hypot(...matrix.elements.slice(4, 7)); };
    return shown.map((c, k) => [c.point, c.force.length(), reach(shafts, k) + reach(heads, k), c.position.x]);
  }, t);
  const times = await page.evaluate(() => Array.from(window.scree.replay.frames.time));
  const [a, b, half] = [await lengths(times[27]), await lengths(times[28]), await lengths((times[27] + times[28]) / 2)];
  assert.ok(a.length > 0 && a.length === b.length && a.length === half.length);
  for (const [, force, length] of [...a, ...b, ...half])
    assert.ok(Math.abs(length - force / 2000) < 1e-4 * length, `${length} m for ${force} N`);  // float32 matrices
  half.forEach(([point, , , x], k) => {
    assert.equal(point, a[k][0]);
    assert.ok(Math.abs(x - (a[k][3] + b[k][3]) / 2) < 1e-6);
  });
});

pageTest('contacts: the toggle hides and shows the arrows, the corner tells what they are', replay('contact'), async (page) => {
  await page.evaluate(() => window.scree.player.seek(1.3));
  const shown = (await picture(page)).hash;
  assert.equal(await page.getAttribute('#forces', 'aria-pressed'), 'true');
  await page.click('#forces');
  assert.notEqual((await picture(page)).hash, shown);
  await page.click('#forces');
  assert.equal((await picture(page)).hash, shown);
  assert.match(await page.textContent('#contact-info'), /^2 contacts, [\d.]+ N in all, deepest 0\.01\d* m$/);

  const place = await page.evaluate(() => {
    const {view} = window.scree;
    const box = document.getElementById('view').getBoundingClientRect();
    const p = view.shownContacts[0].position.clone().project(view.camera);
    return [box.left + (0.5 + 0.5 * p.x) * box.width, box.top + (0.5 - 0.5 * p.y) * box.height];
  });
  await page.mouse.move(...place);
  assert.match(await page.textContent('#tip'), /^foot\d on ground\n[\d.]+ N \(.*\)\ndepth 0\.01/);
  await page.mouse.move(place[0] + 80, place[1] + 80);
  assert.ok(await page.isHidden('#tip'));
});

pageTest('contacts: plots of base and ground, marks of subdivided steps', replay('contact'), async (page) => {
  const titles = await page.locator('#plots h2').allTextContents();
  for (const title of ['Base height [m]', 'Base tilt from vertical [rad]', 'Travelled along x [m]', 'Total normal force [N]',
                       'Deepest penetration [m]', 'Outer iterations, per recorded row'])
    assert.ok(titles.includes(title), title);
  const marks = (kind) => page.evaluate((k) =>
    (document.querySelector(`#marks .${k}`).getAttribute('d').match(/M[\d.]+/g) ?? []).map((m) => Number(m.slice(1))), kind);
  // Rows 9, 18, ... of 60 are subdivided, every other of them after a rejected try.
  assert.deepEqual(await marks('subdivided'), [150, 450, 750]);
  assert.deepEqual(await marks('rejected'), [300, 600, 900]);
  const {width} = await page.locator('#marks').boundingBox();
  assert.ok(width > 200, `marks are ${width} px wide`);
});

pageTest('contacts: terrain has no grid through it', replay('terrain'), async (page) => {
  assert.equal(await page.evaluate(() => window.scree.view.grid.visible), false);
  assert.ok((await picture(page)).colours > 200);
  assert.equal(await page.textContent('#scale'), 'Force arrows: 0.1 m is 200 N');
});

pageTest('contacts: the ground goes with a robot that walks far, its pattern stays', replay('far'), async (page) => {
  const where = await page.evaluate(() => {
    const {view, player} = window.scree;
    player.seek(player.end);
    const [disc] = view.ground.discs;
    const square = 2 * disc.square;
    return {x: disc.object.position.x, z: disc.object.position.z, grid: view.groundHeight, centre: view.centre.x,
            phase: (disc.object.position.x / square - disc.texture.offset.x) % 1};
  });
  assert.ok(where.centre > 8);
  assert.ok(Math.abs(where.x - where.centre) < 1e-9);
  assert.equal(where.z, -0.02);
  assert.equal(where.grid, -0.02);
  assert.ok(Math.abs(where.phase - Math.round(where.phase)) < 1e-6);
});

// --- a second run --------------------------------------------------------------------------------------------------

// walk() of make_replay.cpp: where the trunk is in a recorded row, and between the rows that are shown.
const trunk = (t, speed) => [speed * t, 0, 0.485 + 0.01 * Math.sin(4 * Math.PI * t)];
const trunkBetween = (t, speed, spacing) => {
  const k = Math.floor(t / spacing + 1e-9), u = t / spacing - k;
  const [a, b] = [trunk(k * spacing, speed), trunk((k + 1) * spacing, speed)];
  return a.map((x, i) => x + u * (b[i] - x));
};
const seek = (page, t) => page.evaluate((time) => window.scree.player.seek(time), t);
// Every curve of every plot: title, label, whether it is dashed and shown, its colour, how many numbers it has.
const curves = (page) => page.evaluate(() => {
  const titles = Array.from(document.querySelectorAll('#plots h2'), (h) => h.textContent);
  return window.scree.plots.plots.flatMap((holder, k) => {
    const {plot} = holder.plot.plot ? holder.plot : holder;
    return plot.series.slice(1).map((s, i) => ({
      title: titles[k], label: s.label, dashed: (s.dash ?? []).length > 0, shown: s.show, colour: s.stroke(),
      count: plot.data[i + 1].filter((v) => v !== null && v !== undefined).length, last: plot.data[0].at(-1),
    }));
  });
});

pageTest('a page with one run has nothing of a ghost', replay('contact'), async (page) => {
  for (const id of ['ghost', 'beside', 'compare', 'ghost-keys']) assert.ok(await page.isHidden(`#${id}`), id);
  await page.keyboard.press('g');
  assert.ok((await curves(page)).every((c) => !c.dashed && c.shown));
  assert.equal(await page.locator('.of-ghost.value').count(), 0);
});

pageTest('ghost: the legend names both runs, the settings stand side by side', replay('ghost'), async (page) => {
  const text = async (id) => (await page.textContent(`#${id}`)).trim();
  assert.equal(await text('legend-run'), 'Four legs on the ground pbd-nmdp \u00b7 dt 50 ms');
  assert.equal(await text('legend-ghost'), 'Four legs <i>faster</i> ghost \u00b7 pbd-nmdp \u00b7 dt 10 ms \u00b7 interrupted');
  assert.equal(await page.textContent('#title'), 'Four legs on the ground');
  assert.ok(await page.isHidden('#banner'), 'the run itself is complete');
  const rows = await page.locator('#settings tr').evaluateAll((all) => all.map((row) => Array.from(row.cells, (c) => c.textContent)));
  assert.deepEqual(rows, [['', 'run', 'ghost'], ['integrator', 'pbd-nmdp', 'pbd-nmdp'], ['dt', '50 ms', '10 ms'],
                          ['contact points', '4', '\u2013'], ['seed', '\u2013', '7']]);
  assert.match(await page.textContent('#notes'), /Ghost: 3.D view every 2nd of 201 recorded rows, plots all 201 recorded rows\./);
});

pageTest('ghost: one translucent mesh per shape, at the poses of its own run', replay('ghost'), async (page) => {
  assert.equal(await page.evaluate(() => window.scree.view.ghost.meshes.length), 5);
  const found = await page.evaluate(() => window.scree.view.ghost.meshes.map(({material, visible}) =>
    [material.transparent, material.opacity > 0.2 && material.opacity < 0.6, visible]));
  assert.deepEqual(found, Array(5).fill([true, true, true]));
  const places = (t) => page.evaluate((time) => {
    window.scree.player.seek(time);
    return [window.scree.view.bodies[0], window.scree.view.ghost.bodies[0]].map((b) => b.position.toArray());
  }, t);
  for (const t of [0, 0.5, 1.02, 1.37]) {
    const [run, ghost] = await places(t);
    // float32 frames: 6e-8 of numbers below 1
    run.forEach((x, i) => assert.ok(Math.abs(x - trunkBetween(t, 0.3, 0.05)[i]) < 1e-6, `run at ${t}: ${run}`));
    ghost.forEach((x, i) => assert.ok(Math.abs(x - trunkBetween(t, 0.35, 0.02)[i]) < 1e-6, `ghost at ${t}: ${ghost}`));
  }
});

pageTest('ghost: the key hides and shows it in view, plots and legends', replay('ghost'), async (page) => {
  await seek(page, 1.3);
  const shown = (await picture(page)).hash;
  assert.equal(await page.getAttribute('#ghost', 'aria-pressed'), 'true');
  await page.keyboard.press('g');
  assert.equal(await page.getAttribute('#ghost', 'aria-pressed'), 'false');
  assert.notEqual((await picture(page)).hash, shown);
  assert.ok((await curves(page)).every((c) => c.shown === !c.dashed));
  assert.equal(await page.locator('.of-ghost.value:visible').count(), 0);
  await page.click('#ghost');
  assert.equal((await picture(page)).hash, shown);
  assert.ok((await curves(page)).every((c) => c.shown));
  assert.ok(await page.locator('.of-ghost.value:visible').count() > 5);
});

pageTest('ghost: the readout is the distance of the trunks, and its largest', replay('ghost'), async (page) => {
  const metres = async (id) => Number(/^([\d.e-]+) m/.exec(await page.textContent(`#${id}`))[1]);
  for (const t of [0.25, 0.5, 1, 1.37, 1.925, 2]) {
    await seek(page, t);
    const a = trunkBetween(t, 0.3, 0.05), b = trunkBetween(t, 0.35, 0.02);
    const expected = Math.hypot(...a.map((x, i) => x - b[i]));
    // four digits, and float32 places
    assert.ok(Math.abs(await metres('root-now') - expected) < 1e-4 * expected + 2e-7, `at ${t} s: ${await metres('root-now')}, ${expected}`);
    const apart = await page.evaluate((time) => window.scree.comparison.distance('centre', time), t);
    assert.ok(Math.abs(await metres('centre-now') - apart) <= 1e-4 * apart);
  }
  // 0.05 m/s faster for 2 s; until then the ghost is ahead by less.
  assert.equal(await page.textContent('#root-most'), '0.1 m at 2 s');
});

pageTest('ghost: one that ended stays where it was and the page says so', replay('ghost'), async (page) => {
  assert.equal(await page.textContent('#ghost-note'), 'The ghost ends at 2 s.');
  const place = (t) => page.evaluate((time) => {
    window.scree.player.seek(time);
    return window.scree.view.ghost.bodies.map((b) => [...b.position.toArray(), ...b.quaternion.toArray()]);
  }, t);
  const last = await place(2);
  assert.equal(await page.textContent('#ghost-note'), 'The ghost ends at 2 s.');
  assert.deepEqual(await place(2.7), last);
  assert.equal(await page.textContent('#ghost-note'), 'The ghost ended at 2 s and stays at its last pose.');
  assert.ok(await page.isVisible('#ghost-note'));
  assert.equal(await page.textContent('#root-now'), '\u2013');
});

pageTest('ghost: dashed curves in the same colour; a legend hides both', replay('ghost'), async (page) => {
  const all = await curves(page);
  const solid = all.filter((c) => !c.dashed), dashed = all.filter((c) => c.dashed);
  assert.equal(dashed.length, solid.length);  // the same model: every quantity exists twice
  for (const c of dashed) {
    const own = solid.find((o) => o.title === c.title && `${o.label}, ghost` === c.label);
    assert.equal(c.colour, own.colour, c.label);
    if (c.title.startsWith('Residual')) continue;  // the first is zero: no place on a logarithmic axis
    assert.equal(own.count, 61);
    assert.equal(c.count, 201);
  }
  const button = page.locator('#plots .legend button').first();
  await button.click();
  assert.deepEqual((await curves(page)).filter((c) => !c.shown).map((c) => c.label), ['kinetic', 'kinetic, ghost']);
  await page.keyboard.press('g');
  await page.keyboard.press('g');
  assert.deepEqual((await curves(page)).filter((c) => !c.shown).map((c) => c.label), ['kinetic', 'kinetic, ghost']);
  await button.click();
  assert.ok((await curves(page)).every((c) => c.shown));
  // Values at the current time, the ghost's beside the run's: 0.3 and 0.35 m/s along x.
  await seek(page, 1);
  const travel = page.locator('#plots section', {hasText: 'Travelled along x'});
  assert.deepEqual(await travel.locator('.value').allTextContents(), ['0.3000', '0.3500']);
});

pageTest('ghost: beside the run by the distance that is stated, and back', replay('ghost'), async (page) => {
  await seek(page, 1);
  const before = await page.textContent('#root-now'), shown = (await picture(page)).hash;
  await page.click('#beside');
  const offset = await page.evaluate(() => window.scree.view.ghost.objects.position.toArray());
  assert.ok(offset[0] === 0 && offset[1] > 0.44 && offset[2] === 0, `moved by ${offset}`);  // the model is 0.44 m wide
  assert.match(await page.textContent('#ghost-note'), new RegExp(`The ghost is drawn ${offset[1]} m beside the run, along y\\.`));
  assert.match(await page.getAttribute('#beside', 'title'), new RegExp(`${offset[1]} m`));
  assert.equal(await page.textContent('#root-now'), before, 'the distance is that of the runs, not of the picture');
  assert.notEqual((await picture(page)).hash, shown);
  await page.keyboard.press('b');
  assert.deepEqual(await page.evaluate(() => window.scree.view.ghost.objects.position.toArray()), [0, 0, 0]);
});

pageTest('ghost: of another model, longer than the run', replay('ghost_other'), async (page) => {
  // 11 view shapes of trunk and arms, a head, a slider by its collision shape; the plane belongs to the world.
  assert.equal(await page.evaluate(() => window.scree.view.ghost.meshes.length), 13);
  const all = await curves(page);
  const labels = (title) => all.filter((c) => c.title === title && c.dashed).map((c) => c.label);
  assert.deepEqual(labels('Energy [J]'), ['kinetic, ghost', 'potential, ghost', 'total, ghost']);
  assert.deepEqual(labels('Joint angles [rad]'), []);   // no joint has the same name
  assert.equal(labels('Joint positions [m]').length, 3);  // the base has
  assert.deepEqual(labels('Base height [m]'), []);      // the ghost has no environment
  for (const c of all) assert.ok(c.last <= 3 * (1 + 1e-6), `${c.label} ends at ${c.last}`);
  assert.match(await page.textContent('#notes'), /It goes on after the run/);
  await page.keyboard.press('End');
  assert.ok(await page.isHidden('#ghost-note'));
  assert.match(await page.textContent('#root-now'), / m$/);
  await page.click('#trail');
  assert.equal(await page.evaluate(() => window.scree.view.ghost.path.visible), true);
});

pageTest('ghost: one row, no shapes', replay('ghost_one_row'), async (page) => {
  assert.equal(await page.evaluate(() => window.scree.view.ghost.meshes.length), 4);
  assert.equal(await page.textContent('#root-most'), '0 m');
  await page.keyboard.press('b');
  assert.ok((await picture(page)).colours > 100);
});

pageTest('ghost: readable on a phone and in the dark', replay('ghost'), async (page) => {
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  for (const id of ['ghost', 'beside', 'legend-ghost', 'root-now']) assert.ok(await page.isVisible(`#${id}`), id);
  const colour = () => page.evaluate(() => window.scree.view.ghost.meshes[0].material.color.getHexString());
  const dark = await colour();
  await page.keyboard.press('d');
  assert.notEqual(await colour(), dark);
}, {viewport: {width: 360, height: 640}, colorScheme: 'dark'});

pageTest('ghost: without WebGL plots and readout have it', replay('ghost'), async (page) => {
  await seek(page, 1);
  assert.equal(await page.textContent('#root-now'), '0.05 m');
  await page.keyboard.press('g');
  assert.ok((await curves(page)).every((c) => c.shown === !c.dashed));
}, {mayLogErrors: true, initScript: withoutWebGL});

// --- events --------------------------------------------------------------------------------------------------------

const eventRows = (page) => page.locator('#events tbody tr').evaluateAll((all) => all.map((row) => ({
  time: row.cells[0].textContent, lines: Array.from(row.cells[1].children, (line) => line.textContent), lost: row.cells[2].textContent,
})));

pageTest('events: time, kind, contacts, impulses, law and certificate; energy lost', replay('events'), async (page) => {
  assert.equal(await page.textContent('#events-title'), 'Events (24)');
  assert.equal(await page.textContent('#events-note'), '');
  const rows = await eventRows(page);
  assert.equal(rows.length, 24);
  assert.deepEqual(rows[0], {time: '0.062500', lines: ['impact', 'foot1 on ground: 2 N s normal, 0.5000 N s tangential',
                                                       'anitescu-potra, 1 step; no certificate'], lost: '0.2500'});
  assert.deepEqual(rows[1].lines, ['rest', 'foot2 on ground', 'foot3 on ground', 'last bounce by 0.1885 s']);
  assert.equal(rows[1].lost, '');
  assert.equal(rows[2].lines[0], 'lift-off');
  assert.equal(rows[3].lines.length, 15, 'kind, 12 contacts, more, law');
  assert.equal(rows[3].lines[13], 'and 3 more');
  assert.equal(rows[3].lines[14], 'reflections, 4 steps; certified, at most 120 steps');
  assert.equal(rows[6].lines[0], 'impact without collision');
  assert.equal(rows[9].lines.at(-1), 'reflections, 10 steps, not certified; certificate does not hold');
});

pageTest('events: a click goes to the time and marks the row; so does playing past it', replay('events'), async (page) => {
  const current = () => page.locator('#events tr[aria-current]').evaluateAll((all) => all.map((row) => row.cells[0].textContent));
  assert.deepEqual(await current(), [], 'before the first');
  await page.locator('#events td button').nth(4).click();
  assert.equal(await clock(page), 3 * 4.5 / 24);
  assert.deepEqual(await current(), ['0.562500']);
  await seek(page, 3);
  assert.deepEqual(await current(), ['2.937500']);
});

pageTest('events: marks above the slider and lines in the plots', replay('events'), async (page) => {
  const marks = await page.evaluate(() => ['impact', 'lift-off', 'rest'].map((kind) =>
    document.querySelector(`#event-marks .${kind}`).getAttribute('d').split('M').length - 1));
  assert.deepEqual(marks, [8, 8, 8]);
  assert.ok(await page.evaluate(() => document.getElementById('event-marks').getBoundingClientRect().width > 100));
  // The plot is transparent beside the line of the first impact.
  const [on, beside] = await page.evaluate(() => {
    const {plot} = window.scree.plots.plots[0];
    const {top, height} = plot.bbox;
    const x = Math.round(plot.valToPos(0.0625, 'x', true)), y = Math.round(top + height / 2);
    return [x, x + 4].map((at) => Array.from(plot.ctx.getImageData(at, y, 1, 1).data));
  });
  assert.ok(on[3] > beside[3], `${on} and ${beside}`);
});

pageTest('events: the table has the first 500 and says so', replay('many_events'), async (page) => {
  assert.equal(await page.locator('#events tbody tr').count(), 500);
  assert.equal(await page.textContent('#events-title'), 'Events (620)');
  assert.equal(await page.textContent('#events-note'), 'The first 500 of 620 events.');
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
});

pageTest('events: a run without has no table and no marks', replay('contact'), async (page) => {
  assert.ok(await page.isHidden('#events'));
  assert.ok(await page.isHidden('#event-marks'));
});

// --- the study page ------------------------------------------------------------------------------------------------

const inkOfCharts = (page) => page.evaluate(() => Array.from(document.querySelectorAll('figure .plot canvas'), (canvas) => {
  const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return new Set(pixels).size;
}));

pageTest('study: the table has every row with its verdict, text stays text', replay('study'), async (page) => {
  assert.equal(await page.textContent('#title'), 'Step size and error');
  const rows = await page.locator('#rows tbody tr').evaluateAll((all) => all.map((row) => Array.from(row.cells, (c) => c.textContent)));
  assert.deepEqual(rows, [
    ['order of accuracy', '', '1', '1.02', '0.95 to 1.05', 'reproduced'],
    ['time per step', 'ms', '14.2', '0.83', '', 'reported'],
    ['largest stable step', 's', '0.05', '0.02 <b>not bold</b>', 'at least 0.05', 'differs'],
  ]);
  const colours = await page.locator('.badge').evaluateAll((all) => all.map((b) => getComputedStyle(b).backgroundColor));
  assert.equal(new Set(colours).size, 3);
  assert.equal(await page.locator('#settings tr').count(), 2);
});

pageTest('study: charts are drawn, curves can be hidden, dark redraws them', replay('study'), async (page) => {
  const ink = await inkOfCharts(page);
  assert.equal(ink.length, 3);
  for (const colours of ink) assert.ok(colours > 20, `a chart has ${colours} colours`);
  const canvas = () => page.evaluate(() => document.querySelector('figure canvas').toDataURL());
  const before = await canvas();
  const curve = page.locator('figure .legend button').first();
  await curve.click();
  assert.equal(await curve.getAttribute('aria-pressed'), 'false');
  await page.waitForFunction((old) => document.querySelector('figure canvas').toDataURL() !== old, before);
  await page.click('#theme');
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
  const axes = await page.evaluate(() => window.scree.charts.map(({plot}) => [plot.scales.x.distr, plot.scales.y.distr]));
  assert.deepEqual(axes, [[3, 3], [1, 1], [1, 3]]);
  // Curves on different x share one axis without gaps: 41 and 601 points, some at the same time.
  const counts = await page.evaluate(() => window.scree.charts[1].plot.data.map((c) => c.filter((v) => v !== null && v !== undefined).length));
  assert.deepEqual(counts.slice(1), [41, 601]);
});

pageTest('study: readable on a phone', replay('study'), async (page) => {
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  const widths = await page.locator('figure').evaluateAll((all) => all.map((f) => f.getBoundingClientRect().width));
  for (const width of widths) assert.ok(width > 300 && width <= 360, `a figure is ${width} px wide`);
  for (const colours of await inkOfCharts(page)) assert.ok(colours > 20);
}, {viewport: {width: 360, height: 640}});

pageTest('following keeps the centre of mass in place on the screen', replay('all_shapes'), async (page) => {
  const offset = () => page.evaluate(() => window.scree.view.orbit.target.clone().sub(window.scree.view.centre).toArray());
  await page.click('#follow');
  const before = await offset();
  await setSlider(page, 0.8);
  (await offset()).forEach((x, k) => assert.ok(Math.abs(x - before[k]) < 1e-6));
});

pageTest('a system set to dark gets a dark page', replay('all_shapes'), async (page) => {
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
}, {colorScheme: 'dark'});

pageTest('a small window has everything in reach and no sideways scrolling', replay('all_shapes'), async (page) => {
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  for (const id of ['play', 'scrub', 'loop', 'view']) assert.ok(await page.isVisible(`#${id}`), id);
  assert.ok((await picture(page)).colours > 100);
}, {viewport: {width: 360, height: 640}});

pageTest('markup in title and settings is shown, not run; a failed run says so', replay('hostile_title'), async (page) => {
  assert.equal(await page.evaluate(() => window.injected), undefined);
  assert.match(await page.textContent('#title'), /^<\/script><script>/);
  assert.match(await page.textContent('#settings'), /<script>/);
  assert.match(await page.textContent('#banner'), /did not converge/);
});

pageTest('one row and no shapes still give a picture', replay('one_row'), async (page) => {
  const shown = await picture(page);
  assert.ok(shown.colours > 100, `${shown.colours} colours`);
  await page.keyboard.press(' ');
  assert.equal(await page.evaluate(() => window.scree.player.playing), false);
});

pageTest('without WebGL the page says so and the plots work', replay('all_shapes'), async (page) => {
  assert.match(await page.textContent('#no-webgl'), /WebGL/);
  assert.ok(await page.isVisible('#no-webgl'));
  await page.keyboard.press('End');
  assert.equal(await clock(page), await page.evaluate(() => window.scree.player.end));
  assert.ok(await page.locator('.plot canvas').count() >= 3);
}, {
  mayLogErrors: true,  // three.js reports the missing context itself
  initScript: withoutWebGL,
});
