import type { Notes, ValueMap } from './notes.ts';
import { nameFrom } from './parts.ts';

/** A line `type: command` each. `web` gets a port in PORT, as where Procfiles come from; `release` runs once there, and not here. */
export function fromProcfile(text: string, name: string, notes: Notes): ValueMap {
  const groups: Record<string, ValueMap> = {};
  text.split('\n').forEach((line, index) => {
    if (line.trim() === '' || line.trim().startsWith('#')) return;
    const parts = /^([A-Za-z0-9_-]+):\s*(\S.*)$/.exec(line);
    const where = `line ${String(index + 1)}`;
    if (parts === null) return notes.add(where, 'is no "type: command", and is left out');
    const [, type = '', command = ''] = parts;
    if (type === 'release')
      return notes.add(where, 'release runs before a version; run it as: moorage run -- COMMAND');
    const group = nameFrom(type);
    const isWeb = type === 'web';
    const script = isWeb ? `export PORT="$MOORAGE_PORT_HTTP"\nexec ${command}\n` : `exec ${command}\n`;
    groups[group] = { ...(isWeb ? { ports: { http: 'auto' } } : {}), tasks: { [group]: { script } } };
  });
  if (Object.keys(groups).length > 0)
    notes.add('resources', 'a Procfile has none: each task gets 100m CPU and 128Mi until you write more');
  return { name, type: 'service', groups };
}
