// Asks an offline evaluator of IAM policies; JSON on standard input and output (see `evaluator.py`).
import { readFileSync } from 'node:fs'
import { runSimulation, runUnsafeSimulation } from '@cloud-copilot/iam-simulate'

const { accountId, principals, requests } = JSON.parse(readFileSync(0, 'utf8'))

function simulation({ principal, action, resource }) {
  const { arn, policies, context } = principals[principal]
  return {
    request: { principal: arn, action, resource: { resource, accountId }, contextVariables: context },
    identityPolicies: policies.map((policy, number) => ({ name: `${principal}-${number}`, policy })),
    serviceControlPolicies: [],
    resourceControlPolicies: []
  }
}

// Checking policies and keys takes twenty times as long as evaluating them: once for each principal and service.
const checked = new Set()
const allowed = []
for (const request of requests) {
  const kind = `${request.principal} ${request.action.split(':')[0]}`
  const asked = simulation(request)
  if (!checked.has(kind)) {
    checked.add(kind)
    const answer = await runSimulation(asked, {})
    if (answer.resultType === 'error') {
      console.error(JSON.stringify({ request, errors: answer.errors }, null, 2))
      process.exit(1)
    }
  }
  allowed.push(runUnsafeSimulation(asked, {}) === 'Allowed')
}
process.stdout.write(JSON.stringify(allowed))
