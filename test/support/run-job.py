"""Submits a job with a client that was made of the document, waits for its end, and reads its output."""

import json
import sys

from moorage_client import Client, JobFile, Refused

address, ca_file, token = sys.argv[1:]
client = Client(address, token, ca_file)

job: JobFile = {"name": "from-python", "type": "batch", "command": ["sh", "-c", "echo hello from python; exit 3"]}
job["restart"] = {"attempts": 0}
job["reschedule"] = {"attempts": 0}
first = client.post_v1_jobs(job)
again = client.post_v1_jobs(job)
name = (first["namespace"], first["name"])

phases = []
while not phases or phases[-1] not in ("complete", "failed"):
    phases.append(client.get_v1_jobs_by_namespace_by_job(*name)["summary"]["phase"])
status = client.get_v1_jobs_by_namespace_by_job(*name)

run = client.post_v1_runs({"name": "once", "command": ["echo", "once"]}, idempotency_key="from-python")
end = None
while end is None:
    end = client.get_v1_jobs_by_namespace_by_job_exit(run["namespace"], run["job"], wait_ms=10_000)

refusals = {}
for what, call in {
    "absent": lambda: client.get_v1_jobs_by_namespace_by_job("default", "no such job/at all"),
    "guarded": lambda: client.post_v1_jobs({**job, "count": 2}, if_match=7),
    "broken": lambda: client.post_v1_jobs({"name": "x", "replicas": 2}),
    "not-allowed": lambda: client.get_v1_tokens(),
}.items():
    try:
        call()
    except Refused as refused:
        refusals[what] = [refused.status, refused.code]

print(
    json.dumps(
        {
            "submitted": [first["changed"], again["changed"]],
            "phase": phases[-1],
            "exit": status["outcomes"][-1]["exit"],
            "log": client.get_v1_jobs_by_namespace_by_job_logs(*name).decode(),
            "run": [end["state"], end["exit"]],
            "runLog": client.get_v1_jobs_by_namespace_by_job_logs(run["namespace"], run["job"], follow=True).decode(),
            "events": [event["kind"] for event in client.get_v1_events(since="0", follow=False, accept="application/x-ndjson")],
            "me": client.get_v1_whoami()["scope"],
            "refusals": refusals,
        }
    )
)
