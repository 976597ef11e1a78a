// What Piscina loads on each thread. It is CommonJS because Piscina asks for modules by require(): where Node 20 ends a
// thread that loads an ES module in this way, it aborts the whole process. An import() may be ended at any moment.
const { script, setup } = require("node:worker_threads").workerData;

exports.take = import(script).then(({ open }) => open(setup));
