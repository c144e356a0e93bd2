/** The oldest release of each line without known faults in watches, leases and reads. */
const SOUND: Readonly<Record<string, number>> = { '3.4': 42, '3.5': 28, '3.6': 9 };

/** @returns a warning for operators about a server of this version; null: none */
export function versionWarning(version: string): string | null {
  const [major = 0, minor = 0, patch = 0] = version.split(/[.-]/).map(Number);
  const line = `${String(major)}.${String(minor)}`;
  const advice = 'Moorage works on it; use 3.6 for production';
  if (major < 3 || (major === 3 && minor < 4))
    return `etcd ${version} is too old: 3.4 is the oldest that can work`;
  if (line === '3.4') return `etcd ${version}: the 3.4 line is past its end of life. ${advice}`;
  const sound = SOUND[line];
  if (sound === undefined || patch >= sound) return null;
  return `etcd ${version} has known faults in watches and leases, repaired in ${line}.${String(sound)}. ${advice}`;
}
