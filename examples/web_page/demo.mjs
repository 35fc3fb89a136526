// SPDX-License-Identifier: 0BSD
//
// What a page does with a bundle: open it once, hand it a Float32Array, read the answer. All else here is the page.
// The address takes ?text=… and ?angle=…, so that a state can be linked to.
import { create, model } from './orientation/orientation.mjs';

const $ = (id) => document.getElementById(id);
const line = $('line'), seen = $('seen');
const pen = line.getContext('2d', { willReadFrequently: true });
const small = seen.getContext('2d', { willReadFrequently: true });
const query = new URLSearchParams(location.search);

// What is on the canvas, before it is turned: text, a picture, and strokes of the mouse.
const sheet = { text: query.get('text') ?? 'The quick brown fox', picture: null, strokes: [], angle: Number(query.get('angle') ?? 0) };

function onSheet(place) {
  pen.save();
  pen.translate(line.width / 2, line.height / 2);
  pen.rotate((sheet.angle * Math.PI) / 180);
  place(pen);
  pen.restore();
}

function draw() {
  const { width, height } = line;
  pen.fillStyle = '#ffffff';
  pen.fillRect(0, 0, width, height);
  onSheet(() => {
    if (sheet.picture) {
      const scale = Math.min(width / sheet.picture.width, height / sheet.picture.height);
      const [w, h] = [sheet.picture.width * scale, sheet.picture.height * scale];
      pen.drawImage(sheet.picture, -w / 2, -h / 2, w, h);
    }
    pen.fillStyle = pen.strokeStyle = '#20242c';
    pen.textAlign = 'center';
    pen.textBaseline = 'middle';
    const family = 'system-ui, "DejaVu Sans", sans-serif';
    pen.font = `100px ${family}`;
    const size = Math.min(0.62 * height, (0.94 * width * 100) / Math.max(1, pen.measureText(sheet.text).width));
    pen.font = `${size}px ${family}`;
    pen.fillText(sheet.text, 0, 0);
    pen.lineWidth = 9;
    pen.lineCap = pen.lineJoin = 'round';
    for (const stroke of sheet.strokes) {
      pen.beginPath();
      for (const [x, y] of stroke) pen.lineTo(x, y);
      pen.stroke();
    }
  });
  $('angle').value = sheet.angle;
  $('degrees').textContent = `${sheet.angle}°`;
  if ($('text').value !== sheet.text) $('text').value = sheet.text;
}

/** Where something is drawn, with a little air around it: [x, y, width, height]. Text detectors hand over such a box. */
function inkBox() {
  const { width, height } = line;
  const pixels = pen.getImageData(0, 0, width, height).data;
  let [left, top, right, bottom] = [width, height, 0, 0];
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      if (pixels[4 * (y * width + x) + 1] > 200) continue;
      [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x + 1), Math.max(bottom, y + 1)];
    }
  }
  if (left >= right) return [0, 0, width, height];
  const air = 0.12 * (bottom - top);
  return [left - air, top - air, right - left + 2 * air, bottom - top + 2 * air];
}

/** The drawing as the network was trained on it: 48 rows, at most 192 columns, channels blue, green, red, each from -1 to 1. */
function input() {
  const { width, height } = seen;
  const [x0, y0, w, h] = inkBox();
  small.fillStyle = '#ffffff';
  small.fillRect(0, 0, width, height);
  small.imageSmoothingQuality = 'high';
  small.drawImage(line, x0, y0, w, h, 0, 0, Math.min(width, (height * w) / h), height);
  const pixels = small.getImageData(0, 0, width, height).data;
  const plane = width * height;
  const x = new Float32Array(3 * plane);
  for (let i = 0; i < plane; ++i) {
    for (let c = 0; c < 3; ++c) x[c * plane + i] = pixels[4 * i + 2 - c] / 127.5 - 1;
  }
  return x;
}

// --- the model -------------------------------------------------------------------------------------------------------

const [{ name: X }] = model.inputs, [{ name: Y }] = model.outputs;
let session = null, running = false, stale = false;

async function look() {
  draw();
  if (!session) return;
  if (running) { // one run at a time; the newest state is looked at when it ends
    stale = true;
    return;
  }
  running = true;
  do {
    stale = false;
    const start = performance.now();
    const [upright, turned] = (await session.run({ [X]: input() }))[Y].data;
    show(upright, turned, performance.now() - start);
  } while (stale);
  running = false;
}

function show(upright, turned, milliseconds) {
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const verdict = $('verdict');
  verdict.className = `verdict ${turned > upright ? 'turned' : 'upright'}`;
  verdict.textContent = turned > upright ? 'It stands on its head.' : 'It is the right way up.';
  for (const [id, share] of [['upright', upright], ['turned', turned]]) {
    $(id).style.width = `${100 * share}%`;
    $(`${id}Share`).textContent = percent(share);
  }
  const { vendor, architecture } = session.device.adapterInfo ?? {};
  const device = [vendor, architecture].filter(Boolean).join(' ') || 'WebGPU';
  $('facts').textContent =
    `${model.kernels.length} kernels, ${(model.weights.bytes / 1024).toFixed(0)} KiB of weights; last run ${milliseconds.toFixed(0)} ms on ${device}`;
  window.ortcResult = { upright, turned }; // for whoever drives the page from outside
}

function giveUp(error) {
  $('verdict').textContent = error.code === 'NO_DEVICE' ? 'This browser offers no WebGPU.' : 'The model could not be opened.';
  $('facts').textContent = error.message;
  window.ortcResult = { error: error.message };
}

// --- what the visitor does ---------------------------------------------------------------------------------------------

const change = (what) => {
  Object.assign(sheet, what);
  look().catch(giveUp);
};
$('text').addEventListener('input', (event) => change({ text: event.target.value }));
$('angle').addEventListener('input', (event) => change({ angle: Number(event.target.value) }));
$('turn').addEventListener('click', () => change({ angle: sheet.angle > 0 ? sheet.angle - 180 : sheet.angle + 180 }));
$('clear').addEventListener('click', () => change({ text: '', picture: null, strokes: [], angle: 0 }));

async function open(file) {
  if (file?.type.startsWith('image/')) change({ picture: await createImageBitmap(file), text: '', strokes: [], angle: 0 });
}
$('file').addEventListener('change', (event) => open(event.target.files[0]).catch(giveUp));
line.addEventListener('dragover', (event) => event.preventDefault());
line.addEventListener('dragenter', () => line.classList.add('over'));
line.addEventListener('dragleave', () => line.classList.remove('over'));
line.addEventListener('drop', (event) => {
  event.preventDefault();
  line.classList.remove('over');
  open(event.dataTransfer.files[0]).catch(giveUp);
});

/** Where the pointer is on the sheet, which may be turned. */
function position(event) {
  const scale = line.width / line.clientWidth;
  const x = event.offsetX * scale - line.width / 2, y = event.offsetY * scale - line.height / 2;
  const a = (-sheet.angle * Math.PI) / 180;
  return [x * Math.cos(a) - y * Math.sin(a), x * Math.sin(a) + y * Math.cos(a)];
}
line.addEventListener('pointerdown', (event) => {
  line.setPointerCapture(event.pointerId);
  change({ strokes: [...sheet.strokes, [position(event), position(event)]] });
});
line.addEventListener('pointermove', (event) => {
  if (!line.hasPointerCapture(event.pointerId)) return;
  sheet.strokes.at(-1).push(position(event));
  change({});
});

draw();
try {
  session = await create();
  await look();
} catch (error) {
  giveUp(error);
}
