#include "ns3/hrl-planner.h"
#include "ns3/policy-prior.h"
#include "ns3/allreduce-state.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/allreduce-bounds.h"
#include "ns3/schedule-verifier.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-spec.h"
#include "ns3/parallel-for.h"
#include "ns3/allreduce-error.h"
#include <iostream>
#include <iomanip>
#include <cstring>
#include <ctime>
using namespace ns3; using namespace ns3::allreduce;
int main(int ac,char**av){
  std::string ckpt=ac>1?av[1]:"random"; uint32_t mult=ac>2?atoi(av[2]):1; uint32_t middles=ac>3?atoi(av[3]):6; std::string kind=ac>4?av[4]:"all"; bool verbose=ac>5;
  PolicyWeights w; RolloutOptions o; if(ckpt=="random") o.mode=RolloutMode::RANDOM; else if(ckpt=="prior") w=MakePrior(1); else if(ckpt=="init") w=PolicyWeights::MakeInitial(1); else w=ReadCheckpoint(ckpt);
  if(getenv("UPPER")) o.upper=!strcmp(getenv("UPPER"),"all")?UpperMode::ALL:UpperMode::FEWEST;
  std::vector<std::string> specs={"bcube:3,1","bcube:4,1","bcube:5,1","bcube:3,2","dcell:3,1","dcell:4,1","dcell:5,1","dcell:2,2","jellyfish:10,3,2","jellyfish:16,4,2","jellyfish:20,4,1","jellyfish:20,5,3"};
  std::vector<std::string> refs={"bcube:3,1","bcube:4,1","bcube:5,1","bcube:6,1","bcube:3,2","bcube:4,2","dcell:3,1","dcell:4,1","dcell:5,1","dcell:6,1","dcell:2,2","jellyfish:10,3,2","jellyfish:16,4,2","jellyfish:20,4,1","jellyfish:20,5,3","jellyfish:32,6,4","fattree:4","fattree:6","fattree:8"};
  struct Job{std::string group; std::string name; Topology t; uint32_t m; double ratio{0}; uint32_t rounds{0},bound{0}; double sec{0};}; std::vector<Job> jobs;
  for(auto&s:specs) for(int k=1;k<=5;k++){ Topology base=ParseTopology(s); uint32_t m=ComputeMeanPorts(base)*mult; std::string fam=s.substr(0,5); if(kind=="all"||kind=="deg") jobs.push_back({"deg "+fam,s+" deg "+std::to_string(k),Degrade(base,k%2?0.05:0.1,k),m}); if(kind=="all"||kind=="mix") jobs.push_back({"mix "+fam,s+" mix "+std::to_string(k),MixCapacity(base,0.3,k),m}); }
  if(kind=="all"||kind=="ref") for(auto&s:refs){ Topology t=ParseTopology(s); jobs.push_back({"ref",s,t,ComputeMeanPorts(t)*mult}); }
  RunParallel(jobs.size(),[&](uint32_t i){ Job&j=jobs[i]; auto roots=MakeRoots(j.t.GetNServers(),j.m); timespec a,b; clock_gettime(CLOCK_THREAD_CPUTIME_ID,&a); auto plan=getenv("FORWARD")?PlanRestByPolicies(AllReduceState(j.t,roots),w,o):PlanFromMiddle(j.t,roots,w,o,middles); clock_gettime(CLOCK_THREAD_CPUTIME_ID,&b); j.sec=b.tv_sec-a.tv_sec+1e-9*(b.tv_nsec-a.tv_nsec); auto v=Verify(j.t,{roots,plan}); if(!v.reason.empty()) std::cout<<"BAD "<<j.name<<": "<<v.reason<<std::endl; j.bound=ComputeLowerBounds(j.t,roots).GetBest().rounds; j.rounds=plan.size(); j.ratio=double(j.rounds)/j.bound; });
  std::map<std::string,std::vector<Job*>> g; for(auto&j:jobs){ g[j.group].push_back(&j); g[j.group.substr(0,3)].push_back(&j);} for(auto&[k,v]:g){ double s=0,w=0,t=0; std::string wn; int at=0; for(auto*j:v){ s+=j->ratio; t+=j->sec; at+=j->rounds==j->bound; if(j->ratio>w){w=j->ratio;wn=j->name;} } std::cout<<k<<" n "<<v.size()<<" mean "<<std::fixed<<std::setprecision(4)<<s/v.size()<<" worst "<<w<<" ("<<wn<<") at bound "<<at<<" sec "<<t<<"\n"; }
  if(verbose) for(auto&j:jobs) std::cout<<j.name<<" m "<<j.m<<" bound "<<j.bound<<" rounds "<<j.rounds<<" ratio "<<j.ratio<<" sec "<<j.sec<<"\n";
}
