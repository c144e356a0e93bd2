import { suiteRun } from './sim/mutants/suite.ts';
const seed=Number(process.argv[2]);
const {world,report}=await suiteRun(seed);
const h=world.history; 
for (const v of report.violations.slice(0,2)) {
 console.log(JSON.stringify(v));
 const id=v.key.split('/').at(-1)!.split('.')[0]!;
 const rows:[number,number,string][]=[];
 for (const r of h.revisions) for (const c of r.fact.changes) { const k=c.kind==='put'?c.entry.key:c.key; if (k.includes(id)) rows.push([r.seq,r.atMs,`rev ${r.fact.revision} ${r.fact.actor} ${c.kind} ${k} ${c.kind==='put'?c.entry.value.slice(0,600):''}`]); }
 for (const f of h.hosts) if (JSON.stringify(f.fact).includes(id)) rows.push([f.seq,f.atMs,'host '+JSON.stringify(f.fact).slice(0,400)]);
 for (const o of h.orders) if (JSON.stringify(o.order).includes(id)) { rows.push([o.seq,o.atMs,'order '+JSON.stringify(o.order).slice(0,300)]); if (o.answer) rows.push([o.answer.seq,o.answer.atMs,'answer '+JSON.stringify(o.answer.fact).slice(0,300)]); else rows.push([o.seq,o.atMs,'NO ANSWER']); }
 for (const a of h.actors) rows.push([a.seq,a.atMs,'actor '+JSON.stringify(a.fact)]);
 rows.sort((a,b)=>a[0]-b[0]); for (const r of rows) console.log(r[0], r[1].toFixed(1), r[2]);
}
